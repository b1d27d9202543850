package store

import (
	"context"
	"encoding/json"
)

// Module is an accepted module of a plugin.
type Module struct {
	Digest      string          `json:"digest"` // SHA-256 of Wasm, hexadecimal
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description json.RawMessage `json:"description"`      // the output of describe
	Signer      string          `json:"signer,omitempty"` // the key that signed it
	AddedAt     int64           `json:"addedAt"`
	Size        int             `json:"size"` // bytes
	Wasm        []byte          `json:"-"`
}

// Activation records that a module became the active one.
type Activation struct {
	Seq    int64  `json:"seq"` // assigned by the store; greater is newer
	Digest string `json:"digest"`
	At     int64  `json:"at"`
	Origin string `json:"origin"`           // where the module came from: a path, "built in", …
	Reason string `json:"reason,omitempty"` // of a rollback: why the previous module was replaced
}

// StateCount counts the flows that have not ended and whose state was written by one
// module in one state version.
type StateCount struct {
	Module       string `json:"module"` // digest; empty: written before modules were stored
	Plugin       string `json:"plugin"` // name and version
	StateVersion int    `json:"stateVersion"`
	Flows        int    `json:"flows"`
}

// ModuleView is the part of View that reads modules.
type ModuleView interface {
	// Module returns the module with this digest, or nil.
	Module(ctx context.Context, digest string) (*Module, error)
	// Modules lists all modules, newest first, without their bytes.
	Modules(ctx context.Context) ([]*Module, error)
	// Activations lists the newest activations, newest first.
	Activations(ctx context.Context, limit int) ([]*Activation, error)
	// StateCounts counts the flows that have not ended, by the module that wrote their
	// state.
	StateCounts(ctx context.Context) ([]StateCount, error)
}

// ModuleTx is the part of Tx that writes modules.
type ModuleTx interface {
	// PutModule stores a module. A module that is stored already is replaced only if
	// m is signed.
	PutModule(m *Module) error
	// DeleteModule removes a module. An unknown module is not an error.
	DeleteModule(digest string) error
	// FlowsOf returns the ids of the flows that have not ended and whose state this
	// module wrote.
	FlowsOf(digest string) ([]string, error)
	// PutActivation appends an activation to the history and assigns its number. The
	// argument is not changed.
	PutActivation(a *Activation) error
}

// OriginBuiltIn is the origin of the module that is built into the program.
// OriginRollback is the origin of a module that a rollback made active again.
const (
	OriginBuiltIn  = "built in"
	OriginRollback = "rollback"
)
