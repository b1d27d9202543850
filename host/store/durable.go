package store

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/abi"
)

// ErrFull is wrapped by the error of a write that failed because the disk is full.
// The whole write was rolled back.
var ErrFull = errors.New("store: disk full")

// Durable is a Store that also keeps flows, runs and deliveries, and changes all of
// them in one transaction. Tools that write require it.
type Durable interface {
	Store
	// View opens a snapshot that also contains flows, runs and deliveries. The
	// caller must close it. Snapshot may return the same type.
	View(ctx context.Context) (View, error)
	// Update runs fn in a write transaction. When Update returns nil, all changes
	// that fn made are on disk. When it returns an error, none are. An error that
	// fn returns is returned unchanged.
	//
	// Several updates may share one commit (group commit), each in its own
	// savepoint. So fn must be quick, must have no effects except through the Tx,
	// and may be called more than once. It runs on the caller's goroutine. Update
	// observes ctx until fn begins; after that it ignores cancellation. When a
	// statement in fn failed, for example because the disk is full, the update is
	// rolled back even if fn returns nil.
	Update(ctx context.Context, fn func(Tx) error) error
	// Subscribe registers fn to be called after each commit that scheduled work,
	// with the scheduled work, in commit order. The returned function cancels the
	// subscription; a call of fn in progress may continue. fn must be quick and must
	// not write to the store.
	Subscribe(fn func([]Due)) (cancel func())
	// Secret returns the store's random bytes, which never change. Ids are derived
	// from them.
	Secret() []byte
}

// View is a Snapshot that also contains flows, runs, deliveries and scheduled work.
type View interface {
	Snapshot
	// Flow, Run and Delivery return the row with this id, or nil.
	Flow(ctx context.Context, id string) (*Flow, error)
	Run(ctx context.Context, id string) (*Run, error)
	Delivery(ctx context.Context, id string) (*Delivery, error)
	// FlowOf returns the flow that a call created, and RunOf the run that a request
	// created, or nil.
	FlowOf(ctx context.Context, call CallKey) (*Flow, error)
	RunOf(ctx context.Context, request CallKey) (*Run, error)
	// Flows, Runs and Deliveries list rows, newest first.
	Flows(ctx context.Context, f *Filter) ([]*Flow, error)
	Runs(ctx context.Context, f *Filter) ([]*Run, error)
	Deliveries(ctx context.Context, f *Filter) ([]*Delivery, error)
	// RunMessages returns the raw messages that a run has stored, including its user
	// message, oldest first.
	RunMessages(ctx context.Context, runID string) ([][]byte, error)
	// WouldBlock is the deadlock check (S4.4): it reports whether a new run of the
	// session would wait for the run, directly or through other runs. A run waits for
	// the unfinished runs that its session accepted before it, and for each run whose
	// result one of its unanswered calls needs.
	WouldBlock(ctx context.Context, sessionKey, runID string) (bool, error)
	// ActiveChildren returns the number of children of the session whose first run
	// has not ended (Run.SpawnedBy).
	ActiveChildren(ctx context.Context, parent string) (int, error)
	// Busy reports whether the session has a run that has not ended.
	Busy(ctx context.Context, sessionKey string) (bool, error)
	// Parents returns the distinct parent keys of all sessions
	// (abi.Session.SpawnedBy), at most limit, which must be at least 1. The parent
	// of the newest child comes first, in list order. Archived children count, and
	// a parent need not be stored.
	Parents(ctx context.Context, limit int) ([]string, error)
	// Due returns all scheduled work of a kind, earliest first.
	Due(ctx context.Context, kind string) ([]Due, error)
	// CountDue returns the number of pieces of work of a kind that are scheduled
	// before a time, without listing them.
	CountDue(ctx context.Context, kind string, before int64) (int, error)
	ModuleView
}

// Tx is one write transaction. It reads its own writes. Only one goroutine may use
// it, and only until fn returns.
type Tx interface {
	// Session returns the session with this canonical key, or nil.
	Session(key string) (*abi.Session, error)
	// PutSession inserts or updates a session. The extra members that Batch.PutSession
	// stored are kept. A new sessionId starts a new transcript.
	PutSession(s *abi.Session) error
	// Append appends a message to the transcript of key. The session must be stored
	// already, otherwise Append fails with abi.NotFound. If the transcript has a
	// message with the same SourceID, Append updates that message instead.
	Append(key string, m *Message) error
	// DeleteSession removes a session with all its transcripts, but not its runs. An
	// unknown session is not an error.
	DeleteSession(key string) error

	// Flow, FlowOf, Run, RunOf and Delivery return a row, or nil.
	Flow(id string) (*Flow, error)
	FlowOf(call CallKey) (*Flow, error)
	Run(id string) (*Run, error)
	RunOf(request CallKey) (*Run, error)
	Delivery(id string) (*Delivery, error)
	// PutFlow, PutRun and PutDelivery insert or update a row by its id. They fail
	// with abi.Conflict when another row has the same Call or Request; the
	// transaction remains usable. PutRun assigns the next number to a new run whose
	// Seq is 0. A stored run keeps its number. The argument is not changed.
	PutFlow(f *Flow) error
	PutRun(r *Run) error
	PutDelivery(d *Delivery) error
	// WaitingFlows returns the ids of the flows that wait for a run. Parked flows do not
	// wait.
	WaitingFlows(runID string) ([]string, error)
	// WouldBlock, ActiveChildren and Busy are View.WouldBlock, View.ActiveChildren and
	// View.Busy within this transaction.
	WouldBlock(sessionKey, runID string) (bool, error)
	ActiveChildren(parent string) (int, error)
	Busy(sessionKey string) (bool, error)

	// Schedule sets the time at which a piece of work is due, in milliseconds.
	// Subscribers are notified after the commit.
	Schedule(kind, id string, at int64) error
	// Unschedule removes a piece of work and its claim.
	Unschedule(kind, id string) error
	// Claim assigns a scheduled piece of work to a worker with a live lease, and
	// returns a fencing token. The token grows with every claim of the work until the
	// work is unscheduled. Claim returns 0 when the work is not scheduled, when
	// another worker with a live lease holds it, or when this worker has no live
	// lease. A lease is live up to and including its last millisecond. If the holder's
	// lease has expired, Claim ends that worker, as TakeOver does, and the worker
	// loses all its claims.
	Claim(kind, id, worker string, now int64) (token int64, err error)
	// Holds reports whether the claim with this fencing token is the newest one and
	// its worker has not been ended.
	Holds(kind, id, worker string, token int64) (bool, error)
	// Unclaim releases a claim, unless a newer one has replaced it.
	Unclaim(kind, id, worker string, token int64) error
	// Lease extends a worker's lease until a time. A lease can expire because a clock
	// was adjusted or the machine was suspended, so an expired lease can be renewed
	// until another worker claims work that this worker holds. Lease reports false when
	// the worker has been ended; the process must then stop using this worker id.
	Lease(worker string, until int64) (bool, error)
	// TakeOver ends all other workers at once: they lose their claims, and their leases
	// cannot be renewed. Only the owner of a store may call it.
	TakeOver(worker string) error
	// Prune removes flows, runs and deliveries that ended before a time, and workers
	// whose leases expired before that time, at most limit rows of each kind. It reports
	// whether more rows can be removed. Prune keeps the runs and deliveries of flows
	// that have not ended, the newest run, workers that hold a claim, and the
	// messages of runs.
	Prune(before int64, limit int) (more bool, err error)
	ModuleTx
}

// Kinds of work.
const (
	KindFlow     = "flow"
	KindRun      = "run"
	KindDelivery = "delivery"
)

// Due is a piece of scheduled work.
type Due struct {
	Kind string
	ID   string
	At   int64
}

// CallKey identifies a call or request within the scope of its caller (S4.4).
type CallKey struct {
	Scope string `json:"scope,omitempty"`
	ID    string `json:"id,omitempty"`
}

// Filter restricts a list of work. The zero value of a field matches every row.
type Filter struct {
	Statuses   []string
	SessionKey string // the session of a run or delivery, or of a flow's caller
	FlowID     string // the flow of a run or delivery, or the flow itself
	Since      int64  // created at or after
	Limit      int    // 0: 100
}
