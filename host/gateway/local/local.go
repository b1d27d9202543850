// Package local connects the processes of one user that work on one database: one
// of them owns it (Owner), and every other one finds that (Dial, Join) and is its
// Client.
//
// The owner holds the lock of the store (store.Ownership). The notice that it leaves
// there says who it is: pid, start, socket. If the store is in a folder, the file
// <database>.sock beside it is a Unix socket of mode 0600, over which the owner serves
// its API to the other processes.
//
// States of a database and how a process tells:
//
//	free      nobody holds the lock: Acquire succeeds, whatever files lie around
//	starting  the lock is held, GET /v1/owner answers, other requests wait
//	owned     the lock is held and every request is answered
//	ending    the lock is held, and its notice says so: nobody is served any more,
//	          but what was begun is not over yet
//	hung      the lock is held, but GET /v1/owner is not answered in time
//
// Invariants: the lock is released when the process ends, in whatever way, so a
// killed owner never blocks the next one. Sockets are created and removed only
// by the holder of the lock.
//
// Failures are store.ErrOwned (the lock is taken), ErrHung, ErrMismatch (the owner
// speaks another version of the API) and ErrFree (nobody was there to dial).
// Each comes with a text that names the database, the process and what to do.
//
// What the owner serves on its socket is the API of package httpapi; the types that
// only the socket has, and how the Client asks, lie here (wire.go, query.go). The
// socket is the user's own: every process that reaches it could open the database as
// well, so that there are no tokens.
//
// Unix only: Unix sockets.
package local

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// API is the version of what owners serve on their sockets. Processes that
// differ in it cannot talk to each other.
const API = 2

// DefaultTimeout is how long an owner may take to answer.
const DefaultTimeout = 5 * time.Second

// Failures besides store.ErrOwned, to be compared with errors.Is.
var (
	ErrHung     = errors.New("the owner of the database does not answer")
	ErrMismatch = errors.New("the owner of the database speaks another version")
	ErrFree     = errors.New("no owner of the database is to be found")
)

// Info is what an owner says of itself from the start: in its notice, and as the answer
// to GET /v1/owner.
type Info struct {
	API      int       `json:"api"`
	Version  string    `json:"version"` // of the program
	PID      int       `json:"pid"`
	Command  string    `json:"command"` // what it does, such as "serve"
	Stays    bool      `json:"stays"`   // it runs until it is told to end, and does what is accepted
	Started  time.Time `json:"started"`
	Database string    `json:"database"` // its location (store.Backend)
	Socket   string    `json:"socket"`   // empty until the socket is there, and when the owner is ending
	Ending   bool      `json:"ending,omitempty"`
}

// String names the process, for errors.
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

// Error is a failure that concerns another process. It matches Kind with
// errors.Is.
type Error struct {
	Kind     error // store.ErrOwned, ErrHung, ErrMismatch or ErrFree
	Database string
	Owner    Info // zero when unknown
	text     string
}

func (e *Error) Error() string { return e.Database + ": " + e.text }

// Unwrap returns Kind.
func (e *Error) Unwrap() error { return e.Kind }

// Options of Acquire, Dial and Join. The zero value means the defaults.
type Options struct {
	Version string        // of this program, for others to read
	Command string        // what this process does, for others to read
	Stays   bool          // it runs until it is told to end
	Timeout time.Duration // how long an owner may take to answer; 0 = DefaultTimeout
	// Patience is how long Join waits for an owner that is ending; 0 = Timeout.
	Patience time.Duration
	Logger   *slog.Logger // nil = discard
}

func (o *Options) orDefault() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Patience <= 0 {
		c.Patience = c.Timeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
