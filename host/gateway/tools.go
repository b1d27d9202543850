package gateway

import (
	"context"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/store"
)

// Tools answers tool calls: a host of this process, or a client of another.
type Tools interface {
	Tools() []abi.Tool
	// ToolsFor returns those that the caller may use.
	ToolsFor(ctx context.Context, c abi.Caller) ([]abi.Tool, error)
	Call(ctx context.Context, c *host.Call) (*host.Answer, error)
}

// Chat takes messages from outside and knows the runs that they start.
type Chat interface {
	Send(ctx context.Context, m *host.Message) (*host.Accepted, error)
	StartAgent(ctx context.Context, r *host.AgentRequest) (*host.Accepted, error)
	PatchSession(ctx context.Context, p *host.SessionPatch) (*abi.Session, error)
	// WaitRun returns the run as it stands when it has ended or the time is over.
	WaitRun(ctx context.Context, caller abi.Caller, runID string, timeout time.Duration) (*store.Run, error)
	// KillRun returns the run as it has ended; one that had before is abi.Conflict.
	KillRun(ctx context.Context, runID, why string) (*store.Run, error)
}

// Plugins shows and changes which version of the plugin serves.
type Plugins interface {
	Plugins(ctx context.Context) (*host.Plugins, error)
	Swap(ctx context.Context, c *host.Candidate) (*host.Swapped, error)
	// AwaitPlugin returns the active version when it is not the one with this digest.
	AwaitPlugin(ctx context.Context, digest string) (*host.Plugin, error)
}

// Work shows flows, runs, deliveries and trees of sessions, and mends what is stuck.
// Lists are newest first; what has no such id is abi.NotFound.
type Work interface {
	Flows(ctx context.Context, f *store.Filter) ([]*store.Flow, error)
	Runs(ctx context.Context, f *store.Filter) ([]*store.Run, error)
	Deliveries(ctx context.Context, f *store.Filter) ([]*store.Delivery, error)
	Tree(ctx context.Context, q *host.TreeQuery) (*host.Tree, error)
	Flow(ctx context.Context, id string) (*store.Flow, error)
	Run(ctx context.Context, id string) (*store.Run, error)
	// KillRun is Chat's.
	KillRun(ctx context.Context, id, why string) (*store.Run, error)
	RetryFlow(ctx context.Context, id string) error
	DropFlow(ctx context.Context, id string) error
	ResendDelivery(ctx context.Context, id string) error
	// WaitFlow returns the flow when it has ended, rests or is parked, and its
	// deliveries have ended too.
	WaitFlow(ctx context.Context, id string) (*store.Flow, error)
}

// Operator is what the user may do with a database, in whichever process owns it. A
// *Gateway, a *local.Client and a *Database implement it.
type Operator interface {
	Tools
	Plugins
	Work
	// Keys returns the settings in force that keys depend on.
	Keys() sessionkey.Settings
	// Status says under what calls are answered.
	Status() *local.Status
	// Import imports an OpenClaw directory. progress may be nil.
	Import(ctx context.Context, dir string, progress func(local.ImportProgress)) (*local.ImportReport, error)
}

var _ interface {
	Tools
	Chat
	Plugins
	Work
} = (*host.Host)(nil)
