package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonobject"
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

var messageMembers = jsonobject.New(
	jsonobject.Optional("sessionKey", jsonobject.Text, func(m *host.Message) any { return &m.SessionKey }),
	jsonobject.Optional("message", jsonobject.Text, func(m *host.Message) any { return &m.Text }),
	jsonobject.Optional("from", jsonobject.Text, func(m *host.Message) any { return &m.From }),
	jsonobject.Optional("channel", jsonobject.Text, func(m *host.Message) any { return &m.Target.Channel }),
	jsonobject.Optional("to", jsonobject.Text, func(m *host.Message) any { return &m.Target.To }),
	jsonobject.Optional("accountId", jsonobject.Text, func(m *host.Message) any { return &m.Target.AccountID }),
	jsonobject.Optional("threadId", wholeOrText{}, func(m *host.Message) any { return thread{&m.Target.ThreadID} }),
)

// sendMessage implements chat.send: a message → {"runId"?, "status", "reply"?}.
func sendMessage(c gateway.Chat) operation {
	return func(r *input) ([]byte, error) {
		m := &host.Message{RequestID: r.requestID}
		if err := readBody(r.body, messageMembers.Of(m), jsonobject.Nullable); err != nil {
			return nil, err
		}
		return accepted(c.Send(r.Context(), m))
	}
}

var agentMembers = jsonobject.New(
	jsonobject.Optional("sessionKey", jsonobject.Text, func(q *host.AgentRequest) any { return &q.SessionKey }),
	jsonobject.Optional("message", jsonobject.Text, func(q *host.AgentRequest) any { return &q.Message }),
	jsonobject.Optional("deliver", jsonobject.Flag, func(q *host.AgentRequest) any { return &q.Deliver }),
	jsonobject.Optional("idempotencyKey", jsonobject.Text, func(q *host.AgentRequest) any { return &q.RequestID }),
)

// startAgent implements agent: a request → {"runId", "status"}.
func startAgent(c gateway.Chat) operation {
	return func(r *input) ([]byte, error) {
		q := &host.AgentRequest{}
		err := readBody(r.body, agentMembers.Of(q), jsonobject.Nullable)
		if err == nil {
			err = host.CheckCallID("idempotencyKey", q.RequestID)
		}
		switch {
		case err != nil:
			return nil, err
		case q.RequestID == "":
			q.RequestID = r.requestID
		case r.requestID != "" && r.requestID != q.RequestID:
			return nil, invalid("idempotencyKey and the header %s differ; send only one, or equal values", HeaderIdempotency)
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

// Timeouts of agent.wait, in milliseconds.
const (
	defaultWait = 30_000
	maxWait     = 3_600_000
)

type waitRequest struct {
	runID     string
	timeoutMs int64
}

var waitMembers = jsonobject.New(
	jsonobject.Optional("runId", jsonobject.Text, func(q *waitRequest) any { return &q.runID }),
	jsonobject.Optional("timeoutMs", fromZero{}, func(q *waitRequest) any { return &q.timeoutMs }),
)

// waitRun implements agent.wait: a request → {"runId", "status", "reply"?, "error"?}, with
// the status ok, error or timeout. The host checks the caller's access to the run.
func waitRun(c gateway.Chat) operation {
	return func(r *input) ([]byte, error) {
		q := waitRequest{timeoutMs: defaultWait}
		err := readBody(r.body, waitMembers.Of(&q), jsonobject.Nullable)
		if err == nil {
			err = required("runId", q.runID)
		}
		if err != nil {
			return nil, err
		}
		timeout := time.Duration(min(q.timeoutMs, maxWait)) * time.Millisecond
		run, err := gateway.Await(r.Request, func(ctx context.Context) (*store.Run, error) {
			return c.WaitRun(ctx, r.caller, q.runID, timeout)
		})
		if err != nil {
			return nil, err
		}
		o := jsonappend.Open(nil)
		o.String("runId", run.ID)
		switch {
		case !run.Ended():
			o.String("status", "timeout")
			o.String("error", fmt.Sprintf("the run is still %s; wait again", run.Status))
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

type abortRequest struct{ runID, reason string }

var abortMembers = jsonobject.New(
	jsonobject.Optional("runId", jsonobject.Text, func(q *abortRequest) any { return &q.runID }),
	jsonobject.Optional("reason", jsonobject.Text, func(q *abortRequest) any { return &q.reason }),
)

// abortRun implements agent.abort: a request → {"runId", "status"}, with the run's final
// status.
func abortRun(c gateway.Chat) operation {
	return func(r *input) ([]byte, error) {
		var q abortRequest
		err := readBody(r.body, abortMembers.Of(&q), jsonobject.Nullable)
		if err == nil {
			err = required("runId", q.runID)
		}
		if err != nil {
			return nil, err
		}
		run, err := gateway.Await(r.Request, func(ctx context.Context) (*store.Run, error) {
			return c.AbortRun(ctx, q.runID, q.reason)
		})
		if err != nil {
			return nil, err
		}
		return accepted(&host.Accepted{RunID: run.ID, Status: run.Status}, nil)
	}
}

type historyRequest struct {
	sessionKey string
	limit      []byte // any JSON: the tool validates it
}

var historyMembers = jsonobject.New(
	jsonobject.Optional("sessionKey", jsonobject.Text, func(q *historyRequest) any { return &q.sessionKey }),
	jsonobject.Optional("limit", jsonobject.Any, func(q *historyRequest) any { return &q.limit }),
)

// readHistory implements chat.history: a request → the result of sessions_history for the
// caller. If the tool fails, the request fails.
func readHistory(r *input) ([]byte, error) {
	var q historyRequest
	if err := readBody(r.body, historyMembers.Of(&q), jsonobject.Nullable); err != nil {
		return nil, err
	}
	answer, err := r.Call(&host.Call{Tool: abi.ToolHistory, Args: historyMembers.Append(nil, &q), Caller: r.caller, ID: r.requestID})
	switch {
	case err != nil:
		return nil, err
	case answer.Code != "":
		return nil, abi.NewError(answer.Code, gjson.GetBytes(answer.Result, "error").String())
	}
	return answer.Result, nil
}

var patchMembers = jsonobject.New(
	jsonobject.Optional("key", jsonobject.Text, func(p *host.SessionPatch) any { return &p.Key }),
	jsonobject.Optional("sendPolicy", settingText{}, func(p *host.SessionPatch) any { return setting{&p.SendPolicy} }),
	jsonobject.Optional("label", settingText{}, func(p *host.SessionPatch) any { return setting{&p.Label} }),
	jsonobject.Optional("displayName", settingText{}, func(p *host.SessionPatch) any { return setting{&p.DisplayName} }),
	jsonobject.Optional("model", settingText{}, func(p *host.SessionPatch) any { return setting{&p.Model} }),
	jsonobject.Optional("thinkingLevel", settingText{}, func(p *host.SessionPatch) any { return setting{&p.ThinkingLevel} }),
	jsonobject.Optional("verboseLevel", settingText{}, func(p *host.SessionPatch) any { return setting{&p.VerboseLevel} }),
	jsonobject.Optional("archived", jsonobject.Flag, func(p *host.SessionPatch) any { return &p.Archived }),
)

// patchSession implements sessions.patch: a patch → the session. An absent setting is
// unchanged; null unsets it. The answer's kind is derived from the key (S1.6), not the
// stored one.
func patchSession(c gateway.Chat, keys func() sessionkey.Settings) operation {
	return func(r *input) ([]byte, error) {
		p := &host.SessionPatch{}
		err := readBody(r.body, patchMembers.Of(p), jsonobject.Strict)
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
