package local

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Status is what an owner says of itself when it answers calls: under what it does.
type Status struct {
	Info
	Config string              `json:"config"` // the file; empty = none
	Plugin Plugin              `json:"plugin"`
	Keys   sessionkey.Settings `json:"keys"`
}

// Plugin is the module that the owner runs.
type Plugin struct {
	Digest  string `json:"digest"` // SHA-256, hexadecimal
	Name    string `json:"name"`
	Version string `json:"version"`
}

// ImportRequest names OpenClaw's state directory.
type ImportRequest struct {
	Dir string `json:"dir"` // absolute
}

// ImportEvent is one line of an import's answer; one member is set.
type ImportEvent struct {
	Progress *ImportProgress `json:"progress,omitempty"`
	Report   *ImportReport   `json:"report,omitempty"`
	Error    *Failure        `json:"error,omitempty"`
}

// Failure is why an import failed.
type Failure struct {
	Code    abi.Code `json:"code"`
	Message string   `json:"message"`
}
