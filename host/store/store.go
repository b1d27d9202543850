// Package store defines the storage that the host requires: snapshots to read from,
// bulk loading, and transactions over sessions, flows, runs and deliveries. The
// default implementation is store/sqlite. An embedder may supply another one and test
// it with storetest.Exercise.
//
// A Snapshot is a consistent view: commits made while it is open do not change it.
// The cost of a read is proportional to the size of its result, not to the size of
// the store (S2.5).
package store

import (
	"context"
	"slices"

	"github.com/parley-wasm/parley/abi"
)

// Store holds sessions and their transcripts. It is safe for concurrent use. The
// caller that opened it must close it.
type Store interface {
	// Snapshot opens a consistent view. The caller must close it.
	Snapshot(ctx context.Context) (Snapshot, error)
}

// Snapshot serves the reads of a step. Only one goroutine at a time may use it. The
// caller must check requests first: limits must be set and within the ABI's bounds.
type Snapshot interface {
	// Get returns the session with this canonical key, or nil.
	Get(ctx context.Context, key string) (*abi.Session, error)
	// Resolve returns the newest session with the sessionId within the scope, or nil.
	Resolve(ctx context.Context, r *abi.ResolveRequest) (*abi.Session, error)
	// List returns sessions, newest first, then by key.
	List(ctx context.Context, r *abi.ListRequest) (*abi.ListPage, error)
	// History returns messages, newest first. For an unknown session it returns an
	// empty page.
	History(ctx context.Context, r *abi.HistoryRequest) (*abi.HistoryPage, error)
	Close() error
}

// Located is a Store whose transcripts have paths, which tools return to their
// callers (S2.3).
type Located interface {
	Store
	// TranscriptPath returns the path of the transcript of a new session, by its
	// sessionId.
	TranscriptPath(sessionID string) string
}

// Loader is a Store that imports sessions and messages in bulk. Loading the same
// data again updates it and creates no duplicates.
type Loader interface {
	Store
	// Load runs fn in one write transaction. If fn returns an error or panics, the
	// transaction is rolled back.
	Load(ctx context.Context, fn func(Batch) error) error
	// Bookmark returns the bookmark that Batch.SetBookmark stored under this name, or
	// "".
	Bookmark(ctx context.Context, name string) (string, error)
}

// Batch is one write transaction of a Loader.
type Batch interface {
	// PutSession inserts or updates the session by its key. It stores extra with the
	// session: a JSON object with the source's members that abi.Session does not have.
	// A session with a new sessionId gets an empty transcript; the old transcript
	// stays stored under its sessionId.
	PutSession(s *abi.Session, extra []byte) (Change, error)
	// PutMessage appends a message to the transcript of key, or updates the message
	// with the same source id. The session must be stored already.
	PutMessage(key string, m *Message) (Change, error)
	// SetBookmark stores a bookmark, such as the offset up to which a file was read.
	SetBookmark(name, value string) error
}

// Message is a transcript message to store.
type Message struct {
	SourceID string // unique within its transcript; empty = always appended
	Role     string
	At       int64  // milliseconds, 0 when unknown
	JSON     []byte // the raw message object, normalised
	RunID    string // the run that the message belongs to, if known
}

// Change is the effect of a put.
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
