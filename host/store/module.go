package store

import (
	"context"
	"encoding/json"
)

// Module is a plugin's module that has been accepted.
type Module struct {
	Digest      string          `json:"digest"` // SHA-256 of Wasm, hexadecimal
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description json.RawMessage `json:"description"`      // the output of describe
	Signer      string          `json:"signer,omitempty"` // which key signed it
	AddedAt     int64           `json:"addedAt"`
	Size        int             `json:"size"` // bytes
	Wasm        []byte          `json:"-"`
}

// Activation is one change of the module that serves.
type Activation struct {
	Seq    int64  `json:"seq"` // given by the store; greater is newer
	Digest string `json:"digest"`
	At     int64  `json:"at"`
	Origin string `json:"origin"`           // where the module came from: a path, "built in", …
	Reason string `json:"reason,omitempty"` // of a rollback: why the one before had to go
}

// States are flows that have not ended and whose states one module wrote in one
// version.
type States struct {
	Module       string `json:"module"` // digest; empty: written before modules were kept
	Plugin       string `json:"plugin"` // name and version
	StateVersion int    `json:"stateVersion"`
	Flows        int    `json:"flows"`
}

// ModuleView is what a View shows of modules.
type ModuleView interface {
	// Module returns the module with this digest, or nil.
	Module(ctx context.Context, digest string) (*Module, error)
	// Modules lists all modules, newest first, without their bytes.
	Modules(ctx context.Context) ([]*Module, error)
	// Activations lists the newest, newest first.
	Activations(ctx context.Context, limit int) ([]*Activation, error)
	// States tells what wrote the states of the flows that have not ended.
	States(ctx context.Context) ([]States, error)
}

// ModuleTx is what a Tx does with modules.
type ModuleTx interface {
	// PutModule keeps a module. One that is kept already stays as it is, unless this one
	// is signed.
	PutModule(m *Module) error
	// DeleteModule removes a module; that there is none is no error.
	DeleteModule(digest string) error
	// FlowsOf returns the ids of the flows that have not ended and whose states this
	// module wrote.
	FlowsOf(digest string) ([]string, error)
	// PutActivation appends to the history and numbers it. The argument is not
	// changed.
	PutActivation(a *Activation) error
}

// OriginBuiltIn is the origin of the module that came with the program,
// OriginRollback that of one that took over again.
const (
	OriginBuiltIn  = "built in"
	OriginRollback = "rollback"
)
