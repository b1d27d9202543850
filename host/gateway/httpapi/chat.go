package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/store"
)

// chatRoutes are the endpoints for messages from outside and the runs that they start.
func chatRoutes(c gateway.Chat, keys func() sessionkey.Settings) []endpoint {
	return []endpoint{
		{method: http.MethodPost, path: "/v1/chat/send", do: sendMessage(c), operator: "sending messages as a channel does"},
		{method: http.MethodPost, path: "/v1/agent", do: startAgent(c), operator: "starting runs in any session"},
		{method: http.MethodPost, path: "/v1/sessions/patch", do: patchSession(c, keys), operator: "changing the settings of sessions"},
		{method: http.MethodPost, path: "/v1/agent/abort", do: abortRun(c), operator: "aborting runs"},
		{method: http.MethodPost, path: "/v1/agent/wait", do: waitRun(c)},
	}
}

func historyRoute() endpoint {
	return endpoint{method: http.MethodPost, path: "/v1/chat/history", do: readHistory}
}

// sendMessage is chat.send: {"sessionKey", "message", "from"?, "channel"?, "to"?,
// "accountId"?, "threadId"?} → {"runId"?, "status", "reply"?}.
func sendMessage(c gateway.Chat) operation {
	return func(r *input) ([]byte, error) {
		m := &host.Message{RequestID: r.id}
		err := readBody(r.body, fields{
			"sessionKey": text(&m.SessionKey), "message": text(&m.Text), "from": text(&m.From),
			"channel": text(&m.Target.Channel), "to": text(&m.Target.To),
			"accountId": text(&m.Target.AccountID), "threadId": thread(&m.Target.ThreadID),
		})
		if err != nil {
			return nil, err
		}
		return accepted(c.Send(r.Context(), m))
	}
}

// startAgent is agent: {"sessionKey", "message", "deliver"?, "idempotencyKey"?} →
// {"runId", "status"}.
func startAgent(c gateway.Chat) operation {
	return func(r *input) ([]byte, error) {
		q := &host.AgentRequest{}
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
		return accepted(c.StartAgent(r.Context(), q))
	}
}

func accepted(a *host.Accepted, err error) ([]byte, error) {
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
func waitRun(c gateway.Chat) operation {
	return func(r *input) ([]byte, error) {
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
		run, err := gateway.Await(r.Request, func(ctx context.Context) (*store.Run, error) {
			return c.WaitRun(ctx, r.caller, id, timeout)
		})
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
func abortRun(c gateway.Chat) operation {
	return func(r *input) ([]byte, error) {
		var id, reason string
		err := readBody(r.body, fields{"runId": text(&id), "reason": text(&reason)})
		if err == nil {
			err = required("runId", id)
		}
		if err != nil {
			return nil, err
		}
		run, err := gateway.Await(r.Request, func(ctx context.Context) (*store.Run, error) {
			return c.KillRun(ctx, id, reason)
		})
		if err != nil {
			return nil, err
		}
		return accepted(&host.Accepted{RunID: run.ID, Status: run.Status}, nil)
	}
}

// readHistory is chat.history: {"sessionKey", "limit"?} → what sessions_history
// answers the caller; a failure of the tool is one of the request.
func readHistory(r *input) ([]byte, error) {
	var key string
	var limit []byte
	if err := readBody(r.body, fields{"sessionKey": text(&key), "limit": anyJSON(&limit)}); err != nil {
		return nil, err
	}
	args := jsonappend.Open(nil)
	args.OptString("sessionKey", key)
	args.OptRaw("limit", limit)
	answer, err := r.Call(&host.Call{Tool: abi.ToolHistory, Args: args.Close(), Caller: r.caller, ID: r.id})
	switch {
	case err != nil:
		return nil, err
	case answer.Code != "":
		return nil, abi.NewError(answer.Code, gjson.GetBytes(answer.Result, "error").String())
	}
	return answer.Result, nil
}

// patchSession is sessions.patch: {"key", SETTING…} → the session. An absent
// setting stays; null unsets it. The kind is S1.6's, not the stored one.
func patchSession(c gateway.Chat, keys func() sessionkey.Settings) operation {
	return func(r *input) ([]byte, error) {
		p := &host.SessionPatch{}
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
		s, err := c.PatchSession(r.Context(), p)
		if err != nil {
			return nil, err
		}
		s.Kind = keys().KindOf(s.Key)
		return s.AppendJSON(nil), nil
	}
}
