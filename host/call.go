package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/internal/flow"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

// Call is one tool call.
type Call struct {
	Tool   string
	Args   []byte     // a JSON object; empty means {}
	Caller abi.Caller // a session, or the operator; an empty AgentID is derived from the session key
	ID     string     // chosen by the caller (S4.4), see CheckCallID; empty: the host generates one
	Wait   Wait       // nil: the call holds no resource
}

// Wait is a resource, such as an admission slot, that a call holds except while it
// waits for the answer of a flow. The host calls Suspend when the wait begins and
// Resume when it ends.
type Wait interface {
	Suspend()
	Resume()
}

// Answer is a tool's answer. Result is a JSON object and also describes the tool's
// own failures (S0.1); Code is empty unless the tool failed.
type Answer struct {
	CallID string
	FlowID string // set if the call was accepted and wrote something
	Result []byte
	Code   abi.Code
}

// Call runs one tool call and returns its answer. Failures of the tool are answers,
// and so is the refusal of a tool that the caller may not use (S5.4). If there is no
// answer, Call returns ctx's error or an *abi.Error: InvalidArgs (the arguments are not
// strict JSON, the caller is missing or inconsistent, or the call id is invalid or
// was used before with other arguments), NotFound (no such tool), Forbidden (the
// attempt that calls has ended), Unsupported, Limit (the step exceeded a limit, or the
// disk is full), Conflict, Internal.
//
// A call of a tool that writes may wait for runs. An accepted call needs a started host
// to continue. The end of ctx ends only the wait: a later call with the same id gets
// the answer.
func (h *Host) Call(ctx context.Context, c *Call) (*Answer, error) {
	v := h.modules.Use()
	release := sync.OnceFunc(v.Release)
	defer release()
	tool, caller, err := h.check(v.About, c)
	if err != nil {
		return nil, err
	}
	if caller, err = h.completeCaller(ctx, caller); err != nil {
		return nil, h.protocolError(ctx, c, err)
	}
	// Only calls of runs are checked here. A connection of a child session is denied
	// only sessions_spawn, and that tool itself refuses, after argument errors (S5.2).
	if refusal := h.Config().Tools.Subagents.Check(&caller, tool.Name); refusal != nil && caller.RunID != "" {
		return h.refuse(c, refusal), nil
	}
	var answer *Answer
	if tool.ReadOnly {
		answer, err = h.read(ctx, v, c, caller)
	} else {
		release() // the flow manager acquires a version for each step; the wait may take hours
		answer, err = h.write(ctx, c, caller)
	}
	if err != nil {
		return nil, h.protocolError(ctx, c, err)
	}
	return answer, nil
}

// refuse returns the answer to a call that the settings forbid, in the form of a tool's
// answer (S0.1). The plugin does not run, nothing is stored, and the call id stays free.
func (h *Host) refuse(c *Call, refusal error) *Answer {
	o := jsonappend.Open(nil)
	o.String("status", "forbidden")
	o.String("error", refusal.Error())
	return &Answer{CallID: h.callID(c), Result: o.Close(), Code: abi.Forbidden}
}

// callID returns the call's id, or a new one if it has none.
func (h *Host) callID(c *Call) string {
	if c.ID != "" {
		return c.ID
	}
	return h.options.NewID()
}

// read runs a read-only tool: one step without a flow.
func (h *Host) read(ctx context.Context, v *module.Version, c *Call, caller abi.Caller) (*Answer, error) {
	id := h.callID(c)
	now := h.options.Now().UnixMilli()
	in := &abi.CallInput{
		FlowID: id, Step: 1, CallID: id, Now: now, AcceptedAt: now,
		Tool: c.Tool, Args: c.Args, Caller: caller, Config: h.settings.Load().input(v, c.Tool),
	}
	doc := in.AppendJSON(make([]byte, 0, 1024+len(in.Args)+len(in.Config)))
	result, err := h.steps.Run(ctx, v, &step.Input{Export: abi.ExportCall, JSON: doc})
	if err != nil {
		return nil, err
	}
	return &Answer{CallID: id, Result: result.Result, Code: result.Code}, nil
}

// write runs a tool that writes, as a flow.
func (h *Host) write(ctx context.Context, c *Call, caller abi.Caller) (*Answer, error) {
	if h.services == nil {
		return nil, abi.NewError(abi.Unsupported, "host: "+c.Tool+" writes to the store, which must be a store.Durable")
	}
	call := &flow.Call{
		Key: store.CallKey{Scope: store.ScopeOf(&caller), ID: c.ID}, Tool: c.Tool, Args: c.Args,
		Digest: flow.Digest(c.Tool, c.Args), Caller: caller,
	}
	if caller.RunID != "" {
		own := h.services.runs.ToolCall(&caller, c.Tool, call.Digest)
		if own == nil {
			return nil, errAttemptEnded(caller.RunID)
		}
		call.Check = own.Check
		if call.Key.ID == "" {
			call.Key.ID = own.ID
		}
	}
	if call.Key.ID == "" {
		call.Key.ID = h.options.NewID()
	}
	answer, id, err := h.services.flows.Accept(ctx, call)
	if id != "" {
		answer, err = h.await(ctx, c, caller.RunID, id)
	}
	switch {
	case errors.Is(err, work.ErrLost), errors.Is(err, work.ErrEnded):
		return nil, errAttemptEnded(caller.RunID)
	case err != nil:
		return nil, err
	}
	return &Answer{CallID: call.Key.ID, FlowID: answer.FlowID, Result: answer.Result, Code: answer.Code}, nil
}

// errAttemptEnded is the error for a call by an attempt that has ended.
func errAttemptEnded(runID string) error {
	return abi.NewError(abi.Forbidden, "host: the run "+clip(runID)+" has ended, or another attempt at it has begun; this attempt can call no more tools")
}

// errNotStarted wraps an error of OnWait. The caller receives its text: the accepted
// call is stored, and repeating the call returns the answer once the cause is fixed.
var errNotStarted = errors.New("the call was accepted, but its work could not start")

// await waits for the answer of a call's flow. If a run makes the call, the run
// releases its slot until the wait ends.
func (h *Host) await(ctx context.Context, c *Call, runID, flowID string) (*flow.Answer, error) {
	if err := h.options.OnWait(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotStarted, err)
	}
	if c.Wait != nil {
		c.Wait.Suspend()
		defer c.Wait.Resume()
	}
	if runID != "" {
		defer h.services.runs.Suspend(runID)()
	}
	return h.services.flows.Await(ctx, flowID)
}

// maxCallID bounds a call id, in bytes.
const maxCallID = 256

// CheckCallID checks the id of a call or message (S4.4): visible ASCII, at most 256
// bytes; an empty id is valid. It fails with abi.InvalidArgs and a text that begins
// with name, the parameter in which the caller passed the id.
func CheckCallID(name, id string) error {
	if len(id) > maxCallID {
		return abi.NewError(abi.InvalidArgs, fmt.Sprintf("%s is longer than %d bytes", name, maxCallID))
	}
	for i := 0; i < len(id); i++ {
		if id[i] <= ' ' || id[i] > '~' {
			return abi.NewError(abi.InvalidArgs, name+" has characters other than visible ASCII")
		}
	}
	return nil
}

// check returns the call's tool and its caller with the agent id. It refuses arguments
// that are not strict JSON, an invalid call id, and a missing or inconsistent caller.
func (h *Host) check(about *abi.Description, c *Call) (*abi.Tool, abi.Caller, error) {
	tool := about.Tool(c.Tool)
	switch {
	case tool == nil:
		return nil, c.Caller, abi.NewError(abi.NotFound, fmt.Sprintf("host: there is no tool %q", clip(c.Tool)))
	case len(c.Args) > MaxArgs:
		return nil, c.Caller, abi.NewError(abi.InvalidArgs, fmt.Sprintf("host: the arguments are %d bytes; at most %d are accepted", len(c.Args), MaxArgs))
	case len(c.Args) > 0:
		if err := jsonstrict.CheckDepth(c.Args, abi.MaxDepth-1); err != nil {
			return nil, c.Caller, &abi.Error{Code: abi.InvalidArgs, Message: "the arguments are not strict JSON: " + err.Error(), Cause: err}
		}
	}
	if err := CheckCallID("the call id", c.ID); err != nil {
		return nil, c.Caller, err
	}
	caller, err := checkCaller(c.Caller, h.Config().Keys())
	return tool, caller, err
}

// checkCaller requires that the caller is either a session or the operator. Violations
// are mistakes of the embedder, but a wrong caller must never reach the plugin.
func checkCaller(c abi.Caller, keys sessionkey.Settings) (abi.Caller, error) {
	if c.Operator {
		if c.SessionKey != "" {
			return c, badCaller("a caller is a session or the operator, not both")
		}
		return c, nil
	}
	if keys.GlobalScope && c.SessionKey == sessionkey.Global {
		if id, err := sessionkey.AgentID(c.AgentID); err != nil || id != c.AgentID {
			return c, badCaller("the caller's session is global and its agent id %q is invalid", clip(c.AgentID))
		}
		return c, nil
	}
	agent, _, ok := sessionkey.Split(c.SessionKey)
	if canonical, err := keys.Canonical(c.SessionKey, agent); !ok || err != nil || canonical != c.SessionKey {
		return c, badCaller("the caller's session key %q is not canonical; write agent:<agentId>:<rest>, with the main key of the settings", clip(c.SessionKey))
	}
	if c.AgentID == "" {
		c.AgentID = agent
	}
	if c.AgentID != agent {
		return c, badCaller("the caller's session %q is not of agent %q", clip(c.SessionKey), clip(c.AgentID))
	}
	return c, nil
}

func badCaller(format string, args ...any) error {
	return abi.NewError(abi.InvalidArgs, "host: "+fmt.Sprintf(format, args...))
}

// protocolError converts err into the error for the caller. It logs errors that are not
// meant for the caller, and hides the details of internal ones.
func (h *Host) protocolError(ctx context.Context, c *Call, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, work.ErrClosing) {
		return &abi.Error{Code: abi.Conflict, Message: "the gateway is closing; the next gateway resumes the call: repeat it with the same call id to get its answer", Cause: err}
	}
	var e *abi.Error
	if err = diskFull(err); errors.As(err, &e) && e.Code != abi.Internal {
		return e
	}
	code := abi.Internal
	for _, known := range []abi.Code{abi.Limit, abi.Unsupported} {
		if errors.Is(err, known) {
			code = known
		}
	}
	h.options.Logger.Error("host: call failed", "tool", c.Tool, "session", c.Caller.SessionKey, "error", err)
	message := "the call failed; the host's log has the details"
	if code != abi.Internal || errors.Is(err, errNotStarted) {
		message = err.Error()
	}
	return &abi.Error{Code: code, Message: message, Cause: err}
}

// diskFull translates store.ErrFull into an error for the caller.
func diskFull(err error) error {
	if !errors.Is(err, store.ErrFull) {
		return err
	}
	return &abi.Error{Code: abi.Limit, Message: "the disk is full and the database cannot grow: nothing was accepted; free disk space, then send the request again", Cause: err}
}

func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
