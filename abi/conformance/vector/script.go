package vector

import (
	"encoding/json"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Script defines the answers of the agents: the n-th run that a flow or a message
// starts in a session takes the n-th turn of the session's list. The vector fails if a
// run has no turn, or if a turn remains unused.
//
//	{"agent:main:main": ["a reply", {"reply", "takesMs"}, {"error"}, {"status"}, {"calls": […], "reply"}]}
//
// A string is a reply after DefaultTakesMs. The host chooses the keys of spawned
// children. The script numbers the children of an agent in the order of their first turns:
// "agent:ops:subagent:2" is the second child of agent ops, unless a stored session has that
// key.
type Script map[string][]Turn

// DefaultTakesMs is the duration of a turn without takesMs.
const DefaultTakesMs = 1000

// Turn defines the course of one run:
//
//	{
//	  "reply": "…",                  what the agent answers; absent = nothing
//	  "takesMs": 1000,               duration of the turn without its calls
//	  "error": "…",                  the run fails with this error
//	  "status": "done"|"failed"|"killed"|"timeout",   its final status; timeout: the agent never answers
//	  "calls": [{"tool", "args", "expect"?}]          tool calls that the run makes first, in sequence
//	  "toolResult": "…"              a tool result that the run appends to the transcript
//	  "model": "…",                  the model that the agent reports
//	  "usage": {"input", "output", "total"}           the tokens that the agent reports
//	}
//
// A second attempt, after a restart, repeats the turn.
type Turn struct {
	Reply   string
	TakesMs int64
	Error   string
	Status  string // one of abi.RunDone, RunFailed, RunKilled, RunTimeout
	Calls   []AgentCall

	ToolResult string
	Model      string
	Usage      *abi.Usage
}

// ToolResultMessage returns the message with the turn's tool result, or nil.
func (t *Turn) ToolResultMessage(at int64) []byte {
	if t.ToolResult == "" {
		return nil
	}
	return jsonvalue.Compact(map[string]any{"role": "toolResult", "toolCallId": "call_1", "content": []any{TextBlock(t.ToolResult)}, "timestamp": jsonvalue.Number(at)})
}

// AgentCall is a tool call that an agent makes while it runs.
type AgentCall struct {
	Tool   string
	Args   []byte
	Expect *Expect // nil accepts any answer
}

// Check returns the problems of the answer that the agent received.
func (c *AgentCall) Check(a Answer) (problems []string) {
	result, wrong := examine(c.Tool, a)
	if c.Expect != nil {
		wrong = append(wrong, c.Expect.Check(a, result)...)
	}
	for _, line := range wrong {
		problems = append(problems, "agent's call: "+c.Tool+": "+line)
	}
	return problems
}

// Before is a run that is already running when the first step begins, so that messages
// to its session are queued. It replies "before" and takes no turn of the script.
type Before struct {
	SessionKey string
	TakesMs    int64
}

// Agents assigns the turns of a script to runs. It is not safe for concurrent use.
type Agents struct {
	script Script
	busy   map[string]int64 // takesMs of each Before run that has not started, by session
	used   map[string]int   // number of turns assigned, by session
	turns  map[string]*Turn // by run id

	aliases  map[string]string // names of children in the script, by key
	children map[string]int    // number of aliases, by agent
	stored   map[string]bool   // keys of sessions that the vector stores
}

// NewAgents returns the agents of a vector, with no turn taken.
func NewAgents(v *Vector) *Agents {
	c := &Agents{script: v.Agents, busy: map[string]int64{}, used: map[string]int{}, turns: map[string]*Turn{},
		aliases: map[string]string{}, children: map[string]int{}, stored: map[string]bool{}}
	for i := range v.Store.Sessions {
		c.stored[v.Store.Sessions[i].Session.Key] = true
	}
	for _, b := range v.Before {
		c.busy[b.SessionKey] = b.TakesMs
	}
	return c
}

// Turn returns the turn of a run. Every attempt of the run gets the same turn.
func (c *Agents) Turn(sessionKey, runID string) (*Turn, error) {
	if t := c.turns[runID]; t != nil {
		return t, nil
	}
	sessionKey = c.alias(sessionKey)
	t := &Turn{Status: abi.RunDone}
	if ms, before := c.busy[sessionKey]; before {
		delete(c.busy, sessionKey)
		t.Reply, t.TakesMs = "before", ms
	} else {
		n := c.used[sessionKey]
		if c.used[sessionKey]++; n >= len(c.script[sessionKey]) {
			return nil, fmt.Errorf("the vector has no turn %d for the agent of %s", n+1, sessionKey)
		}
		t = &c.script[sessionKey][n]
	}
	c.turns[runID] = t
	return t, nil
}

// alias returns the name of a session in the script.
func (c *Agents) alias(key string) string {
	agent, _, _ := sessionkey.Split(key)
	if c.stored[key] || !sessionkey.IsChild(key) {
		return key
	}
	if c.aliases[key] == "" {
		c.children[agent]++
		c.aliases[key] = sessionkey.ChildOf(agent, fmt.Sprint(c.children[agent]))
	}
	return c.aliases[key]
}

// Unused returns a line for each session with unused turns.
func (c *Agents) Unused() (problems []string) {
	for key, turns := range c.script {
		if n := c.used[key]; n < len(turns) {
			problems = append(problems, fmt.Sprintf("%d runs in %s, but the vector has %d turns for its agent", n, key, len(turns)))
		}
	}
	return problems
}

func script(v any) (Script, error) {
	if v == nil {
		return nil, nil
	}
	v, err := Expand(v)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want an object whose members are session keys")
	}
	s := Script{}
	for _, key := range jsonvalue.Names(o) {
		s[key] = []Turn{}
		for i, item := range jsonvalue.List(o[key]) {
			t, err := turn(item)
			if err != nil {
				return nil, fmt.Errorf("%s: %d: %w", key, i+1, err)
			}
			s[key] = append(s[key], t)
		}
	}
	return s, nil
}

func turn(v any) (Turn, error) {
	t := Turn{TakesMs: DefaultTakesMs}
	if reply, ok := v.(string); ok {
		t.Reply, t.Status = reply, abi.RunDone
		return t, nil
	}
	o, _ := v.(map[string]any)
	f := jsonvalue.Fields{Object: o, What: "turn"}
	f.Text("reply", &t.Reply)
	f.Int64("takesMs", &t.TakesMs)
	f.Text("error", &t.Error)
	f.Text("status", &t.Status)
	f.Text("toolResult", &t.ToolResult)
	f.Text("model", &t.Model)
	f.Nested("usage", func(n *jsonvalue.Fields) {
		t.Usage = &abi.Usage{}
		n.OptInt("input", &t.Usage.Input)
		n.OptInt("output", &t.Usage.Output)
		n.OptInt("total", &t.Usage.Total)
	})
	calls, ok := f.Take("calls").([]any)
	if jsonvalue.Has(o, "calls") && !ok {
		f.Wrong("calls", "an array")
	}
	for _, item := range calls {
		c, err := agentCall(item)
		f.Fail(err)
		t.Calls = append(t.Calls, c)
	}
	switch t.Status {
	case "":
		if t.Status = abi.RunDone; t.Error != "" {
			t.Status = abi.RunFailed
		}
	case abi.RunDone, abi.RunFailed, abi.RunKilled, abi.RunTimeout:
	default:
		f.Wrong("status", "done, failed, killed or timeout")
	}
	if t.Status != abi.RunDone && t.Reply != "" || t.Status != abi.RunFailed && t.Error != "" {
		f.Fail(fmt.Errorf("status %s does not allow reply %q with error %q", t.Status, t.Reply, t.Error))
	}
	switch {
	case t.Status == abi.RunFailed && t.Error == "":
		t.Error = "the agent failed"
	case t.Status == abi.RunKilled:
		t.Error = AbortedByOperator
	}
	return t, f.Done()
}

// AbortedByOperator is the error of a run that the operator aborted.
const AbortedByOperator = "aborted by the operator"

func agentCall(v any) (AgentCall, error) {
	var c AgentCall
	o, _ := v.(map[string]any)
	f := jsonvalue.Fields{Object: o, What: "call"}
	f.Required("tool", &c.Tool)
	args := f.Take("args")
	if args == nil {
		args = map[string]any{}
	}
	c.Args = jsonvalue.Compact(args)
	if expect := f.Take("expect"); jsonvalue.Has(o, "expect") {
		e, err := expectation(expect)
		f.Fail(err)
		c.Expect = &e
	}
	return c, f.Done()
}

func before(v any) (all []Before, err error) {
	if v == nil {
		return nil, nil
	}
	seen := map[string]bool{}
	for _, item := range jsonvalue.List(v) {
		o, _ := item.(map[string]any)
		b := Before{TakesMs: DefaultTakesMs}
		f := jsonvalue.Fields{Object: o, What: "run"}
		f.Required("sessionKey", &b.SessionKey)
		f.Int64("takesMs", &b.TakesMs)
		if seen[b.SessionKey] {
			f.Fail(fmt.Errorf("%s appears twice", b.SessionKey))
		}
		seen[b.SessionKey] = true
		if err := f.Done(); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// encoded returns a value's JSON in parsed form.
func encoded(v any) any {
	text, err := json.Marshal(v)
	if err == nil {
		v, err = jsonvalue.Parse(text)
	}
	if err != nil {
		panic("vector: encode an outcome: " + err.Error())
	}
	return v
}

// TextBlock returns a text block of a message's content.
func TextBlock(s string) map[string]any { return map[string]any{"type": "text", "text": s} }
