// Package runner is the interface between the host and what executes an agent's
// turns: a model endpoint, a program, or code of an embedder. runnertest checks
// whether an implementation behaves.
//
// A Runner receives a Turn, answers one user message, and returns an Outcome. It
// keeps nothing between turns: what must survive a crash goes through the Turn
// into the store before the runner relies on it. A turn may be the second attempt
// at a run whose first attempt was cut off.
package runner

import (
	"context"
	"encoding/json"

	"github.com/parley-wasm/parley/abi"
)

// Runner executes turns. It must be safe for concurrent use. Run must return when
// ctx ends, with ctx's error, and leave nothing running.
type Runner interface {
	Run(ctx context.Context, t *Turn) (*Outcome, error)
}

// Reaper is a Runner whose attempts leave something running when the host dies.
// Reap ends what the attempt recorded with Turn.Leave, if it still runs. It is
// called before the next attempt, in another process than the one that left it.
type Reaper interface {
	Runner
	Reap(ctx context.Context, left json.RawMessage) error
}

// Turn is one attempt at a run.
type Turn struct {
	RunID      string
	Attempt    int // the first is 1
	SessionKey string
	SessionID  string
	AgentID    string
	Model      string // empty: the agent's own choice
	Thinking   string
	Message    string // of the user message, the last one in the transcript
	Context    string // who sends and what for; for the agent, not for the transcript
	Sandboxed  bool   // the session is held to the sandbox (S7.3): so should be what the agent can do otherwise
	Transcript Transcript
	Tools      Tools // nil: the agent is to have none
	// Leave commits what must be ended if this process dies. A runner calls it
	// before it lets anything run on its own.
	Leave func(ctx context.Context, left any) error
}

// Transcript is the session's conversation, as this attempt may change it.
type Transcript interface {
	// History returns the newest messages of the session before this run's own,
	// oldest first, at most so many and of so many bytes together. Long texts in
	// them are shortened.
	History(ctx context.Context, messages, bytes int) ([]json.RawMessage, error)
	// Run returns what earlier attempts of this run have appended, oldest first.
	Run(ctx context.Context) ([]json.RawMessage, error)
	// Append stores messages of this run: assistant messages that call tools, and
	// the tools' results. It fails when the attempt is no longer the newest. The
	// final answer is not appended: it is the Outcome.
	Append(ctx context.Context, messages ...json.RawMessage) error
}

// Tools are the session tools, called as the run's session and nobody else.
type Tools interface {
	// List returns the tools that this session may use. It must not be changed.
	List() []abi.Tool
	// Call calls a tool and waits for its answer. A call that an earlier attempt
	// has made with the same arguments gets the answer that it got: the n-th equal
	// call of an attempt is the n-th of every attempt. An agent that does not begin
	// again where an earlier attempt began makes the calls that it passes over
	// again before it makes an equal one.
	Call(ctx context.Context, tool string, args json.RawMessage) (*Answer, error)
	// Access returns the address of the gateway and a token that stands for this
	// attempt, for agents that are programs of their own. Both are empty where
	// no gateway serves.
	Access() (url, token string)
}

// Answer is a tool's answer.
type Answer struct {
	Result json.RawMessage
	Code   abi.Code // empty unless the tool failed
}

// Outcome is how a turn ended well.
type Outcome struct {
	Text  string // the answer, thinking left out
	Model string // the one that really ran; empty when unknown
	Usage *abi.Usage
}
