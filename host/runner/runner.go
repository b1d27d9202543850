// Package runner defines the interface between the host and the runners that execute
// an agent's turns: a model endpoint, a program, or the embedder's code. Package
// runnertest tests implementations.
//
// A Runner receives a Turn, answers one user message, and returns an Outcome. It keeps
// no state between turns: before it relies on data that must survive a crash, it stores
// them through the Turn. A turn may be a further attempt at a run whose previous attempt
// was interrupted.
package runner

import (
	"context"
	"encoding/json"

	"github.com/parley-wasm/parley/abi"
)

// Runner executes turns. It must be safe for concurrent use. When ctx ends, Run must
// return ctx's error and leave nothing running.
type Runner interface {
	Run(ctx context.Context, t *Turn) (*Outcome, error)
}

// Reaper is a Runner whose attempts may leave processes running when the host dies.
// Reap ends the process that an attempt recorded with Turn.Leave, if the process still
// runs. After a restart, the host calls Reap before the next attempt.
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
	Message    string // text of the user message, the last message of the transcript
	Context    string // sender and purpose of the message, for the agent; not stored in the transcript
	Sandboxed  bool   // the session is sandboxed (S7.3); the runner should sandbox the agent's other abilities too
	Transcript Transcript
	Tools      Tools // nil: the agent has no tools
	// Leave stores a description of the process that must be ended if the host dies. A
	// later call replaces the description. Until Leave has returned, the process must
	// not run the agent, and must end by itself if the host dies.
	Leave func(ctx context.Context, left any) error
}

// Transcript gives an attempt access to the session's conversation.
type Transcript interface {
	// History returns the newest messages before this run's own, oldest first: at most
	// the given number of messages and total bytes. Long texts are truncated.
	History(ctx context.Context, messages, bytes int) ([]json.RawMessage, error)
	// Run returns the messages that earlier attempts at this run appended, oldest first.
	Run(ctx context.Context) ([]json.RawMessage, error)
	// Append stores messages of this run: assistant messages that call tools, and
	// the tools' results. It fails if the attempt is no longer the newest. The runner
	// must not append the final answer: that is the Outcome.
	Append(ctx context.Context, messages ...json.RawMessage) error
}

// Tools are the session tools. The caller of every call is the run's session.
type Tools interface {
	// List returns the tools that this session may use. The caller must not change the
	// slice.
	List() []abi.Tool
	// Call calls a tool and waits for its answer. A call that an earlier attempt made
	// with the same arguments is not executed again and gets the same answer. If an
	// attempt makes several equal calls, the n-th of them gets the answer of the n-th
	// equal call of the earlier attempts. So an agent that resumes in the middle of a
	// turn must first repeat the equal calls of earlier attempts.
	Call(ctx context.Context, tool string, args json.RawMessage) (*Answer, error)
	// Access returns the gateway's address and a token that identifies this attempt,
	// for agents in other processes. Both are empty if no gateway serves.
	Access() (url, token string)
}

// Answer is a tool's answer.
type Answer struct {
	Result json.RawMessage
	Code   abi.Code // empty unless the tool failed
}

// Outcome is the result of a successful turn.
type Outcome struct {
	Text  string // the answer, without thinking
	Model string // the model that ran; empty if unknown
	Usage *abi.Usage
}
