package store

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/abi"
)

// ErrFull is among the causes of an error when the store has no room: nothing of
// the change was kept.
var ErrFull = errors.New("store: no room")

// Durable is a Store that keeps flows, runs and deliveries too, and changes all
// of them together. Tools that write need one.
type Durable interface {
	Store
	// View opens a snapshot that also shows flows, runs and deliveries. The
	// caller closes it. Snapshot may return the same.
	View(ctx context.Context) (View, error)
	// Update runs fn in a write transaction. When it returns nil, everything fn
	// did is on disk; on any error nothing is. An error of fn is returned as it
	// is.
	//
	// Many updates may share one commit (group commit), each in a savepoint of
	// its own: fn must be quick, do nothing but use the Tx, and bear to be called
	// again. It runs on the caller's goroutine. ctx counts until fn begins; from
	// then on the update is carried out. When the store itself failed in fn, as on
	// a full disk, nothing is kept, whatever fn returns.
	Update(ctx context.Context, fn func(Tx) error) error
	// Subscribe lets fn be called after each commit that scheduled work, with
	// what it scheduled, commit by commit in their order, until the returned
	// function is called; a call that has begun may end later. fn must be quick
	// and must not write to the store.
	Subscribe(fn func([]Due)) (cancel func())
	// Secret returns random bytes that belong to this store for ever; ids are
	// derived from them.
	Secret() []byte
}

// View is a Snapshot that shows work too.
type View interface {
	Snapshot
	// Flow, Run and Delivery return the row with this id, or nil.
	Flow(ctx context.Context, id string) (*Flow, error)
	Run(ctx context.Context, id string) (*Run, error)
	Delivery(ctx context.Context, id string) (*Delivery, error)
	// FlowOf returns the flow that a call made, RunOf the run that a request
	// made, or nil.
	FlowOf(ctx context.Context, call CallKey) (*Flow, error)
	RunOf(ctx context.Context, request CallKey) (*Run, error)
	// Flows, Runs and Deliveries list rows, newest first.
	Flows(ctx context.Context, f *Filter) ([]*Flow, error)
	Runs(ctx context.Context, f *Filter) ([]*Run, error)
	Deliveries(ctx context.Context, f *Filter) ([]*Delivery, error)
	// RunMessages returns the raw messages that a run has stored, its user
	// message included, oldest first.
	RunMessages(ctx context.Context, runID string) ([][]byte, error)
	// Waits reports whether a run of the session that has not ended waits for the
	// run, itself or through others: by an unanswered call of its own, or because
	// it is queued behind one that does (S4.4).
	Waits(ctx context.Context, sessionKey, runID string) (bool, error)
	// ActiveChildren returns how many children of the session are at work: their
	// first run has not ended (Run.SpawnedBy).
	ActiveChildren(ctx context.Context, parent string) (int, error)
	// Busy reports whether a run of the session has not ended.
	Busy(ctx context.Context, sessionKey string) (bool, error)
	// Parents returns the keys that sessions name as their parents
	// (abi.Session.SpawnedBy), stored or not, each once and at most limit, which is
	// at least 1: first the parent of the newest child, by the order of lists,
	// archived children included.
	Parents(ctx context.Context, limit int) ([]string, error)
	// Due returns all scheduled work of a kind, what is due first ahead.
	Due(ctx context.Context, kind string) ([]Due, error)
	// CountDue returns how many pieces of work of a kind are scheduled for a time
	// before this one, without listing them.
	CountDue(ctx context.Context, kind string, before int64) (int, error)
	ModuleView
}

// Tx is one write transaction. It reads its own writes. It is for one goroutine,
// and not to be used when fn has returned.
type Tx interface {
	// Session returns the session with this canonical key, or nil.
	Session(key string) (*abi.Session, error)
	// PutSession inserts or updates a session; what its source knew besides is
	// kept. Another sessionId begins another transcript.
	PutSession(s *abi.Session) error
	// Append appends a message to the transcript of key, whose session was put
	// before (else abi.NotFound). One with a SourceID that the transcript has is
	// updated instead.
	Append(key string, m *Message) error
	// DeleteSession removes a session with all its transcripts. Its runs stay, and
	// that there is none is no error.
	DeleteSession(key string) error

	// Flow, FlowOf, Run, RunOf and Delivery return a row, or nil.
	Flow(id string) (*Flow, error)
	FlowOf(call CallKey) (*Flow, error)
	Run(id string) (*Run, error)
	RunOf(request CallKey) (*Run, error)
	Delivery(id string) (*Delivery, error)
	// PutFlow, PutRun and PutDelivery insert or update a row by its id. A Call or
	// Request that another row has is abi.Conflict, after which the transaction can
	// go on. PutRun numbers a new run whose Seq is 0, in the order of their
	// acceptance; a stored run keeps its number, and the argument is not changed.
	PutFlow(f *Flow) error
	PutRun(r *Run) error
	PutDelivery(d *Delivery) error
	// Waiting returns the ids of the flows that wait for a run. A parked one does
	// not.
	Waiting(runID string) ([]string, error)
	// Waits, ActiveChildren and Busy are View's, as of this transaction.
	Waits(sessionKey, runID string) (bool, error)
	ActiveChildren(parent string) (int, error)
	Busy(sessionKey string) (bool, error)

	// Schedule says when a piece of work is due, in milliseconds. Subscribers
	// hear of it after the commit.
	Schedule(kind, id string, at int64) error
	// Unschedule ends a piece of work, and with it its claim.
	Unschedule(kind, id string) error
	// Claim gives a scheduled piece of work to a worker whose lease is alive, and
	// returns a number that grows with every claim of it, until it is unscheduled.
	// It returns 0 when the work is not scheduled, when another worker with a live
	// lease has it, or when this worker has no live lease. A lease is alive up to
	// and including its last millisecond; another worker that has the work for
	// longer than that is ended, as by TakeOver, and loses all it has.
	Claim(kind, id, worker string, now int64) (fence int64, err error)
	// Holds reports whether the claim with this fence is still the newest, and
	// the worker has not been taken over.
	Holds(kind, id, worker string, fence int64) (bool, error)
	// Unclaim gives a piece of work back, unless somebody else has claimed it.
	Unclaim(kind, id, worker string, fence int64) error
	// Lease makes a worker's lease last until a time. A lease that has run out can
	// be renewed as long as nobody has claimed what the worker has: clocks are set,
	// and machines sleep. It reports false when the worker was ended meanwhile: it
	// must not go on under this name.
	Lease(worker string, until int64) (bool, error)
	// TakeOver ends the leases of all workers but this one at once. Only the sole
	// owner of a store may call it.
	TakeOver(worker string) error
	// Prune removes flows, runs and deliveries that ended before a time, and the
	// workers whose leases ended before it, at most limit rows of each kind. It
	// reports whether there are more. What belongs to a flow that has not ended
	// stays, and so do the newest run, a worker that a claim names, and the messages
	// of runs.
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

// CallKey names a call or request within the scope of who made it (S4.4).
type CallKey struct {
	Scope string `json:"scope,omitempty"`
	ID    string `json:"id,omitempty"`
}

// Filter narrows a list of work. The zero value of a field does not.
type Filter struct {
	Statuses   []string
	SessionKey string // of a run or delivery; of a flow, its caller's
	FlowID     string // of a run or delivery; of a flow, its own
	Since      int64  // created at or after
	Limit      int    // 0: 100
}
