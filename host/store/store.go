// Package store is what the host asks of a session store: snapshots to read
// from, and bulk loading. The default implementation is store/sqlite; an
// embedder may supply another, and storetest.Exercise tells whether it behaves.
//
// A Snapshot is one consistent view: it never changes, whatever is committed
// while it is open. All cost is proportional to what is returned, not to what
// is stored (S2.5).
package store

import (
	"context"
	"slices"

	"github.com/parley-wasm/parley/abi"
)

// Store holds sessions and their transcripts. It is safe for concurrent use;
// who opened it closes it.
type Store interface {
	// Snapshot opens a consistent view. The caller closes it.
	Snapshot(ctx context.Context) (Snapshot, error)
}

// Snapshot answers a step's reads. It is for one goroutine at a time. Requests
// have been checked: limits are within the ABI's bounds and set.
type Snapshot interface {
	// Get returns the session with this canonical key, or nil.
	Get(ctx context.Context, key string) (*abi.Session, error)
	// Resolve returns the newest session with the sessionId within the scope, or nil.
	Resolve(ctx context.Context, r *abi.ResolveRequest) (*abi.Session, error)
	// List returns sessions, newest first, then by key.
	List(ctx context.Context, r *abi.ListRequest) (*abi.ListPage, error)
	// History returns messages, newest first. An unknown session has none.
	History(ctx context.Context, r *abi.HistoryRequest) (*abi.HistoryPage, error)
	Close() error
}

// Located is a Store whose transcripts have paths, for people to look at and tools
// to name (S2.3).
type Located interface {
	Store
	// TranscriptPath returns where the transcript of a new session is, by its
	// sessionId.
	TranscriptPath(sessionID string) string
}

// Loader is a Store that takes sessions and messages in bulk, as an importer
// has them. Loading again updates; nothing is duplicated.
type Loader interface {
	Store
	// Load runs fn in one write transaction. An error from fn, or a panic,
	// leaves nothing behind.
	Load(ctx context.Context, fn func(Batch) error) error
	// Mark returns the bookmark that Batch.SetMark left under this name, or "".
	Mark(ctx context.Context, name string) (string, error)
}

// Batch is one write transaction of a Loader.
type Batch interface {
	// PutSession inserts or updates the session by its key. extra is a JSON
	// object of the source's members that abi.Session does not know; it is kept.
	// A session of another sessionId gets a fresh transcript; the old one stays
	// stored under its sessionId.
	PutSession(s *abi.Session, extra []byte) (Change, error)
	// PutMessage appends a message to the transcript of key, or updates the one
	// that came with the same source id. It needs the session put before.
	PutMessage(key string, m *Message) (Change, error)
	// SetMark leaves a bookmark, such as how far a file was read.
	SetMark(name, value string) error
}

// Message is a transcript message to be stored.
type Message struct {
	SourceID string // unique within its transcript; empty = always appended
	Role     string
	At       int64  // milliseconds, 0 when unknown
	JSON     []byte // the raw message object, normalised
	RunID    string // the run that it belongs to, if one is known
}

// Change says what a put did.
type Change int

const (
	Unchanged Change = iota
	Inserted
	Updated
)

// ToolResultRoles are the roles of messages that are tool results (S3.2).
var ToolResultRoles = []string{"toolResult", "tool"}

// IsToolResult reports whether messages of this role are tool results (S3.2).
func IsToolResult(role string) bool { return slices.Contains(ToolResultRoles, role) }
