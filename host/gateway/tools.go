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

// Tools answers tool calls. *host.Host and *local.Client implement it.
type Tools interface {
	Tools() []abi.Tool
	// ToolsFor returns the tools that the caller may use.
	ToolsFor(ctx context.Context, c abi.Caller) ([]abi.Tool, error)
	Call(ctx context.Context, c *host.Call) (*host.Answer, error)
}

// Chat accepts messages from outside and controls the runs that they start.
type Chat interface {
	Send(ctx context.Context, m *host.Message) (*host.Accepted, error)
	StartAgent(ctx context.Context, r *host.AgentRequest) (*host.Accepted, error)
	PatchSession(ctx context.Context, p *host.SessionPatch) (*abi.Session, error)
	// WaitRun waits until the run has ended or the timeout has passed, and returns the
	// run in its current state.
	WaitRun(ctx context.Context, caller abi.Caller, runID string, timeout time.Duration) (*store.Run, error)
	// AbortRun aborts a run and returns it in its final state, or abi.Conflict if the run
	// has already ended.
	AbortRun(ctx context.Context, runID, why string) (*store.Run, error)
}

// Plugins lists the versions of the plugin and changes the active one.
type Plugins interface {
	Plugins(ctx context.Context) (*host.Plugins, error)
	Swap(ctx context.Context, c *host.PluginFile) (*host.SwapResult, error)
	// AwaitPlugin waits until the active version has another digest, and returns that
	// version.
	AwaitPlugin(ctx context.Context, digest string) (*host.Plugin, error)
}

// Work lists flows, runs, deliveries and trees of sessions, and repairs stuck ones.
// Lists are newest first. Methods return abi.NotFound for an unknown id.
type Work interface {
	Flows(ctx context.Context, f *store.Filter) ([]*store.Flow, error)
	Runs(ctx context.Context, f *store.Filter) ([]*store.Run, error)
	Deliveries(ctx context.Context, f *store.Filter) ([]*store.Delivery, error)
	Tree(ctx context.Context, q *host.TreeQuery) (*host.Tree, error)
	Flow(ctx context.Context, id string) (*store.Flow, error)
	Run(ctx context.Context, id string) (*store.Run, error)
	// AbortRun is the same method as Chat's.
	AbortRun(ctx context.Context, id, why string) (*store.Run, error)
	RetryFlow(ctx context.Context, id string) error
	DropFlow(ctx context.Context, id string) error
	ResendDelivery(ctx context.Context, id string) error
	// WaitFlow waits until the flow has ended, is idle or is parked, and its deliveries
	// have ended.
	WaitFlow(ctx context.Context, id string) (*store.Flow, error)
}

// Operator is the set of operations that the user may perform on a database, regardless
// of the process that owns it. *Gateway, *local.Client and *Database implement it.
type Operator interface {
	Tools
	Plugins
	Work
	// Keys returns the current settings for session keys.
	Keys() sessionkey.Settings
	// Status describes the process, configuration and plugin that answer calls.
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
