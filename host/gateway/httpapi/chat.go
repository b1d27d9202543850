package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/auth"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/internal/invoke"
	"github.com/parley-wasm/parley/host/store"
)

// Chat takes messages from outside and knows the runs that they start.
type Chat interface {
	Send(ctx context.Context, m *chat.Message) (*chat.Accepted, error)
	StartAgent(ctx context.Context, r *chat.AgentRequest) (*chat.Accepted, error)
	PatchSession(ctx context.Context, p *chat.Patch) (*abi.Session, error)
	// WaitRun returns the run as it stands when it has ended or the time is over.
	WaitRun(ctx context.Context, caller abi.Caller, runID string, timeout time.Duration) (*store.Run, error)
	// KillRun returns the run as it has ended; one that had before is abi.Conflict.
	KillRun(ctx context.Context, runID, why string) (*store.Run, error)
}

var _ Chat = (*host.Host)(nil)

// input is what an operation gets of a request.
type input struct {
	body   []byte
	query  url.Values
	id     string // Idempotency-Key
	caller abi.Caller
	wait   host.Wait
}

// operation answers a request with JSON. Its errors are *abi.Error where the
// client can change something.
type operation func(ctx context.Context, r *input) ([]byte, error)

func (a *API) addChat(c Chat) {
	post := []string{http.MethodPost}
	a.routes["/v1/chat/send"] = route{methods: post, handler: a.exchange(sendMessage(c)), operator: "sending messages as a channel does"}
	a.routes["/v1/agent"] = route{methods: post, handler: a.exchange(startAgent(c)), operator: "starting runs in any session"}
	a.routes["/v1/sessions/patch"] = route{methods: post, handler: a.exchange(patchSession(c, a.options.Keys)), operator: "changing the settings of sessions"}
	a.routes["/v1/agent/abort"] = route{methods: post, handler: a.exchange(abortRun(c)), operator: "aborting runs"}
	a.routes["/v1/agent/wait"] = route{methods: post, handler: a.exchange(waitRun(c))}
}

// exchange serves an operation to the network, in a slot of its own.
func (a *API) exchange(do operation) handler { return a.exchangeUpTo(invoke.MaxBody, do) }

// exchangeUpTo does, with bodies of so many bytes.
func (a *API) exchangeUpTo(maxBody int64, do operation) handler {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
		s := a.take(w)
		if s == nil {
			return
		}
		defer s.leave()
		body, no := a.body(w, r, maxBody)
		if no != nil {
			write(w, *no)
			return
		}
		id, err := requestID(r)
		if err != nil {
			write(w, failure(err))
			return
		}
		ctx, call := a.waits.Track(r.Context(), s.leave)
		defer call.Done()
		doc, err := do(ctx, &input{body, r.URL.Query(), id, who.Caller, call})
		reply := invoke.Reply{Status: http.StatusOK, Body: doc}
		if err != nil {
			a.options.Logger.Log(ctx, severity(err), "httpapi: a request was not done", "path", r.URL.Path, "session", who.Caller.SessionKey, "error", err)
			reply = failure(err)
		}
		finish(ctx, w, reply, err)
	}
}

// sendMessage is chat.send: {"sessionKey", "message", "from"?, "channel"?, "to"?,
// "accountId"?, "threadId"?} → {"runId"?, "status", "reply"?}.
func sendMessage(c Chat) operation {
	return func(ctx context.Context, r *input) ([]byte, error) {
		m := &chat.Message{RequestID: r.id}
		err := readBody(r.body, fields{
			"sessionKey": text(&m.SessionKey), "message": text(&m.Text), "from": text(&m.From),
			"channel": text(&m.Target.Channel), "to": text(&m.Target.To),
			"accountId": text(&m.Target.AccountID), "threadId": thread(&m.Target.ThreadID),
		})
		if err != nil {
			return nil, err
		}
		return accepted(c.Send(ctx, m))
	}
}

// startAgent is agent: {"sessionKey", "message", "deliver"?, "idempotencyKey"?} →
// {"runId", "status"}.
func startAgent(c Chat) operation {
	return func(ctx context.Context, r *input) ([]byte, error) {
		q := &chat.AgentRequest{}
		err := readBody(r.body, fields{
			"sessionKey": text(&q.SessionKey), "message": text(&q.Message),
			"deliver": flag(&q.Deliver), "idempotencyKey": text(&q.RequestID),
		})
		if err == nil {
			err = host.CheckCallID("idempotencyKey", q.RequestID)
		}
		switch {
		case err != nil:
			return nil, err
		case q.RequestID == "":
			q.RequestID = r.id
		case r.id != "" && r.id != q.RequestID:
			return nil, invalid("idempotencyKey and the header %s differ; send one of them, or the same", HeaderIdempotency)
		}
		return accepted(c.StartAgent(ctx, q))
	}
}

func accepted(a *chat.Accepted, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	o := jsonappend.Open(nil)
	o.OptString("runId", a.RunID)
	o.String("status", a.Status)
	o.OptString("reply", a.Reply)
	return o.Close(), nil
}

// Bounds of agent.wait.
const (
	defaultWait = 30 * time.Second
	maxWait     = time.Hour
)

// waitRun is agent.wait: {"runId", "timeoutMs"?} → {"runId", "status", "reply"?,
// "error"?}, status one of ok, error, timeout. The host decides who may ask.
func waitRun(c Chat) operation {
	return func(ctx context.Context, r *input) ([]byte, error) {
		var id string
		ms := float64(defaultWait.Milliseconds())
		err := readBody(r.body, fields{"runId": text(&id), "timeoutMs": number(&ms)})
		if err == nil {
			err = required("runId", id)
		}
		if err != nil {
			return nil, err
		}
		timeout := time.Duration(min(ms, float64(maxWait.Milliseconds()))) * time.Millisecond
		r.wait.Suspend()
		run, err := c.WaitRun(ctx, r.caller, id, timeout)
		r.wait.Resume()
		if err != nil {
			return nil, err
		}
		o := jsonappend.Open(nil)
		o.String("runId", run.ID)
		switch {
		case !run.Ended():
			o.String("status", "timeout")
			o.String("error", fmt.Sprintf("the run is still %s and goes on; wait again", run.Status))
		case run.Status == abi.RunDone:
			o.String("status", "ok")
			o.String("reply", run.Reply)
		default:
			o.String("status", "error")
			o.String("error", whyEnded(run))
		}
		return o.Close(), nil
	}
}

func whyEnded(r *store.Run) string {
	if r.Error != "" {
		return r.Error
	}
	return "the run ended as " + r.Status
}

// abortRun is agent.abort: {"runId", "reason"?} → {"runId", "status"}, the status
// in which the run has ended.
func abortRun(c Chat) operation {
	return func(ctx context.Context, r *input) ([]byte, error) {
		var id, reason string
		err := readBody(r.body, fields{"runId": text(&id), "reason": text(&reason)})
		if err == nil {
			err = required("runId", id)
		}
		if err != nil {
			return nil, err
		}
		r.wait.Suspend()
		run, err := c.KillRun(ctx, id, reason)
		r.wait.Resume()
		if err != nil {
			return nil, err
		}
		return accepted(&chat.Accepted{RunID: run.ID, Status: run.Status}, nil)
	}
}

// history is chat.history: {"sessionKey", "limit"?} → what sessions_history
// answers the caller; a failure of the tool is one of the request.
func history(tools Tools) operation {
	return func(ctx context.Context, r *input) ([]byte, error) {
		var key string
		var limit []byte
		if err := readBody(r.body, fields{"sessionKey": text(&key), "limit": anyJSON(&limit)}); err != nil {
			return nil, err
		}
		args := jsonappend.Open(nil)
		args.OptString("sessionKey", key)
		args.OptRaw("limit", limit)
		answer, err := tools.Call(ctx, &host.Call{Tool: abi.ToolHistory, Args: args.Close(), Caller: r.caller, ID: r.id, Wait: r.wait})
		switch {
		case err != nil:
			return nil, err
		case answer.Code != "":
			return nil, abi.NewError(answer.Code, gjson.GetBytes(answer.Result, "error").String())
		}
		return answer.Result, nil
	}
}

// patchSession is sessions.patch: {"key", SETTING…} → the session. An absent
// setting stays; null unsets it. The kind is S1.6's, not the stored one.
func patchSession(c Chat, keys func() sessionkey.Settings) operation {
	return func(ctx context.Context, r *input) ([]byte, error) {
		p := &chat.Patch{}
		err := readBody(r.body, fields{
			"key": text(&p.Key), "sendPolicy": setting(&p.SendPolicy), "label": setting(&p.Label),
			"displayName": setting(&p.DisplayName), "model": setting(&p.Model),
			"thinkingLevel": setting(&p.ThinkingLevel), "verboseLevel": setting(&p.VerboseLevel),
			"archived": toggle(&p.Archived),
		})
		if err == nil {
			err = required("key", p.Key)
		}
		if err != nil {
			return nil, err
		}
		s, err := c.PatchSession(ctx, p)
		if err != nil {
			return nil, err
		}
		s.Kind = keys().KindOf(s.Key)
		return s.AppendJSON(nil), nil
	}
}
