package local

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/internal/importer"
)

// Status says under what the owner answers.
type Status struct {
	PID    int                 `json:"pid"`
	Stays  bool                `json:"stays"`  // it runs until it is told to end, and does what is accepted
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
	Progress *importer.Progress `json:"progress,omitempty"`
	Report   *importer.Report   `json:"report,omitempty"`
	Error    *Failure           `json:"error,omitempty"`
}

// Failure is why an import failed.
type Failure struct {
	Code    abi.Code `json:"code"`
	Message string   `json:"message"`
}
