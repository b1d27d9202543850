// Package local connects the processes of one user that use one database: one of them
// owns it (Owner), and the others connect to the owner (Dial, Join) as its Clients.
//
// The owner holds the lock of the store (store.Ownership) and publishes a notice with its
// pid, start time and socket. It serves its API to the other processes over this Unix
// socket of mode 0600: the file <database>.sock next to the store or, if that is not
// possible, a file in a private directory.
//
// States of a database and how a process detects them:
//
//	free      the lock is not held: Acquire succeeds, whatever files exist
//	starting  the lock is held, GET /v1/owner is answered, other requests wait
//	owned     the lock is held and every request is answered
//	ending    the lock is held and its notice says "ending": the owner serves no new
//	          requests and finishes the active ones
//	hung      the lock is held, but GET /v1/owner is not answered in time
//
// Invariants: the lock is released when the process ends for any reason, so a killed
// owner never blocks the next one. Only the holder of the lock creates and removes
// sockets.
//
// Failures are store.ErrOwned (the lock is held), ErrHung (the owner does not answer),
// ErrMismatch (the owner has another version of the API) and ErrFree (the database has
// no owner). Each error text names the database; if there is an owner, it also names the
// process and says what to do.
//
// The owner serves the API of package httpapi on its socket. This package has the Client
// for it, and the bodies and query parameters that only this API uses (wire.go, query.go).
// The API needs no tokens, because every process that can reach the socket could also open
// the database itself.
//
// The package supports Unix only.
package local

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// API is the version of the API on the sockets of owners. Processes with different
// versions cannot communicate.
const API = 2

// DefaultTimeout is how long an owner may take to answer.
const DefaultTimeout = 5 * time.Second

// Kinds of Error besides store.ErrOwned. Compare with errors.Is.
var (
	ErrHung     = errors.New("the owner of the database does not answer")
	ErrMismatch = errors.New("the owner of the database has another API version")
	ErrFree     = errors.New("the database has no owner")
)

// Info describes an owner: in its notice, and as the answer to GET /v1/owner.
type Info struct {
	API         int       `json:"api"`
	Version     string    `json:"version"` // of the program
	PID         int       `json:"pid"`
	Command     string    `json:"command"` // parley command, such as "serve"
	LongRunning bool      `json:"stays"`   // the process runs until it is stopped, and executes accepted work
	Started     time.Time `json:"started"`
	Database    string    `json:"database"` // its location (store.Backend)
	Socket      string    `json:"socket"`   // empty until the socket exists, and while the owner is ending
	Ending      bool      `json:"ending,omitempty"`
}

// String describes the process, for errors.
func (i *Info) String() string {
	if i.PID == 0 {
		return "another process"
	}
	s := fmt.Sprintf("process %d", i.PID)
	if i.Command != "" {
		s += fmt.Sprintf(" (parley %s, since %s)", i.Command, i.Started.Local().Format(time.DateTime))
	}
	return s
}

// Error is a failure caused by another process. It matches Kind with errors.Is.
type Error struct {
	Kind     error // store.ErrOwned, ErrHung, ErrMismatch or ErrFree
	Database string
	Owner    Info // zero when unknown
	text     string
}

func (e *Error) Error() string { return e.Database + ": " + e.text }

// Unwrap returns Kind.
func (e *Error) Unwrap() error { return e.Kind }

// Options configures Acquire, Dial and Join. The zero value means the defaults.
type Options struct {
	Version     string        // of this program, shown to other processes
	Command     string        // parley command of this process, shown to other processes
	LongRunning bool          // this process runs until it is stopped
	Timeout     time.Duration // for an owner to answer; 0 = DefaultTimeout
	// ShutdownTimeout is how long Join waits for an owner that is ending; 0 = Timeout.
	ShutdownTimeout time.Duration
	Logger          *slog.Logger // nil = discard
}

func (o *Options) orDefault() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.ShutdownTimeout <= 0 {
		c.ShutdownTimeout = c.Timeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
