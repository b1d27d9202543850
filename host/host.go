// Package host embeds Parley in a Go program: it loads the plugin into a
// sandbox and answers tool calls with it.
//
//	h, err := host.New(ctx, wasm.Parley, &host.Options{Store: db})
//	…
//	answer, err := h.Call(ctx, &host.Call{
//		Tool:   "sessions_list",
//		Args:   []byte(`{"limit": 5}`),
//		Caller: abi.Caller{SessionKey: "agent:main:main"},
//	})
//
// Who calls is the embedder's word alone: nothing in the arguments of a tool
// changes the caller.
package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/engine"
	"github.com/parley-wasm/parley/host/step"
)

// MaxArgs bounds the arguments of a call, in bytes.
const MaxArgs = 2 << 20

// Host answers tool calls. It is safe for concurrent use; who made it closes it.
type Host struct {
	options  Options
	engine   *engine.Engine
	plugin   *engine.Plugin
	about    *abi.Description
	steps    *step.Runner
	settings atomic.Pointer[settings]
}

// settings are what the configuration in force means for each tool.
type settings struct {
	config *config.Config
	tools  map[string][]byte // the config object that a tool's input carries
}

// Call is one tool call.
type Call struct {
	Tool   string
	Args   []byte     // a JSON object; empty means {}
	Caller abi.Caller // a session, or the operator; AgentID follows from the key when empty
	ID     string     // the caller's name for this call (S4.4); empty: the host makes one
}

// Answer is what a tool answered. Its Result is a JSON object, and carries the
// tool's own failures too (S0.1); Code is empty unless it is one.
type Answer struct {
	CallID string
	Result []byte
	Code   abi.Code
}

// New loads the plugin, checks it, and makes a Host with it.
func New(ctx context.Context, wasm []byte, o *Options) (*Host, error) {
	options, err := o.validate()
	if err != nil {
		return nil, err
	}
	h := &Host{options: options}
	h.engine, err = engine.New(ctx, &engine.Options{
		CacheDir: options.CacheDir, Limits: options.Limits, Logger: options.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	if err := h.load(ctx, wasm); err != nil {
		return nil, fmt.Errorf("host: %w", errors.Join(err, h.engine.Close(ctx)))
	}
	h.steps = &step.Runner{
		Plugin: h.plugin, Store: options.Store, Agents: options.Agents,
		Logger: options.Logger, Observe: options.Observe,
	}
	h.Configure(options.Config)
	return h, nil
}

func (h *Host) load(ctx context.Context, wasm []byte) (err error) {
	if h.plugin, err = h.engine.Load(ctx, wasm); err != nil {
		return err
	}
	h.about, err = ParseDescription(h.plugin.Describe())
	return err
}

// Close waits for the calls under way and releases the sandbox. The store stays
// open.
func (h *Host) Close(ctx context.Context) error {
	return errors.Join(h.plugin.Close(ctx), h.engine.Close(ctx))
}

// About returns the plugin's description of itself. It must not be changed.
func (h *Host) About() *abi.Description { return h.about }

// Tools returns the plugin's tools. The slice must not be changed.
func (h *Host) Tools() []abi.Tool { return h.about.Tools }

// Config returns the settings in force.
func (h *Host) Config() *config.Config { return h.settings.Load().config }

// Configure puts other settings in force, for every step that starts from now.
func (h *Host) Configure(c *config.Config) {
	s := &settings{config: c, tools: make(map[string][]byte, len(h.about.Tools))}
	for _, t := range h.about.Tools {
		o := jsonappend.Open(nil)
		for _, name := range t.Needs {
			o.OptRaw(name, c.Member(name))
		}
		s.tools[t.Name] = o.Close()
	}
	h.settings.Store(s)
}

// Call runs one tool call and returns its answer. Failures of the tool are
// answers; an error is an *abi.Error and means that there is none: InvalidArgs
// (the arguments are no strict JSON, or the caller is nobody), NotFound (no such
// tool), Unsupported, Limit (the step went over a limit), Internal.
func (h *Host) Call(ctx context.Context, c *Call) (*Answer, error) {
	in, err := h.input(c)
	if err != nil {
		return nil, err
	}
	result, err := h.steps.Call(ctx, in)
	if err != nil {
		return nil, h.protocolError(ctx, c, err)
	}
	return &Answer{CallID: in.CallID, Result: result.Answer, Code: result.Code}, nil
}

func (h *Host) input(c *Call) (*abi.CallInput, error) {
	tool := h.tool(c.Tool)
	if tool == nil {
		return nil, abi.NewError(abi.NotFound, fmt.Sprintf("host: there is no tool %q", clip(c.Tool)))
	}
	if !tool.ReadOnly {
		return nil, abi.NewError(abi.Unsupported, "host: "+c.Tool+" changes something, and this host runs read-only tools")
	}
	if len(c.Args) > MaxArgs {
		return nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("host: the arguments are %d bytes; at most %d are accepted", len(c.Args), MaxArgs))
	}
	if len(c.Args) > 0 {
		if err := jsonstrict.CheckDepth(c.Args, abi.MaxDepth-1); err != nil {
			return nil, &abi.Error{Code: abi.InvalidArgs, Message: "the arguments are not strict JSON: " + err.Error(), Cause: err}
		}
	}
	now, settings := h.options.Now().UnixMilli(), h.settings.Load()
	caller, err := checkCaller(c.Caller, settings.config.Keys())
	if err != nil {
		return nil, err
	}
	id := c.ID
	if id == "" {
		id = h.options.NewID()
	}
	return &abi.CallInput{
		FlowID: id, Step: 1, CallID: id, Now: now, AcceptedAt: now,
		Tool: c.Tool, Args: c.Args, Caller: caller, Config: settings.tools[c.Tool],
	}, nil
}

func (h *Host) tool(name string) *abi.Tool {
	for i := range h.about.Tools {
		if h.about.Tools[i].Name == name {
			return &h.about.Tools[i]
		}
	}
	return nil
}

// checkCaller refuses a caller that is nobody, or two at once. The mistake is
// the embedder's, but a wrong caller must never reach the plugin.
func checkCaller(c abi.Caller, keys sessionkey.Settings) (abi.Caller, error) {
	if c.Operator {
		if c.SessionKey != "" {
			return c, badCaller("a caller is a session or the operator, not both")
		}
		return c, nil
	}
	if keys.GlobalScope && c.SessionKey == sessionkey.Global {
		if id, err := sessionkey.AgentID(c.AgentID); err != nil || id != c.AgentID {
			return c, badCaller("the caller's session is global and its agent id %q is none", clip(c.AgentID))
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

// protocolError keeps details in the log and gives the caller the code.
func (h *Host) protocolError(ctx context.Context, c *Call, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var e *abi.Error
	if errors.As(err, &e) && e.Code != abi.Internal {
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
	if code != abi.Internal {
		message = err.Error()
	}
	return &abi.Error{Code: code, Message: message, Cause: err}
}

func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
