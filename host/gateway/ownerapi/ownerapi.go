// Package ownerapi is what the owner of a database serves to other processes on
// its socket, besides the tools themselves:
//
//	GET  /v1/status  Status: settings in force, plugin
//	POST /v1/import  ImportRequest; answers with lines of JSON, each an
//	                 ImportEvent: progress, and at last a report or an error
//
// The socket is the user's own (mode 0600): whoever can reach it could open the
// database as well, so that there are no tokens here. An import ends when its
// client goes away. One runs at a time; a second one is refused with 409.
package ownerapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"

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
	Error    *Error             `json:"error,omitempty"`
}

// Error is a failure on the wire.
type Error struct {
	Code    abi.Code `json:"code"`
	Message string   `json:"message"`
}

// Service is the owner's side. Tools answers every other path.
type Service struct {
	Status func() *Status
	Import func(ctx context.Context, dir string, progress func(importer.Progress)) (*importer.Report, error)
	Tools  http.Handler
}

// Handler returns the API.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Status())
	})
	mux.Handle("POST /v1/import", &importHandler{run: s.Import})
	mux.Handle("/", s.Tools)
	return mux
}

type importHandler struct {
	run  func(ctx context.Context, dir string, progress func(importer.Progress)) (*importer.Report, error)
	busy sync.Mutex
}

// maxRequest bounds the body of an ImportRequest, in bytes.
const maxRequest = 64 << 10

func (h *importHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req ImportRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil || !filepath.IsAbs(req.Dir) {
		fail(w, http.StatusBadRequest, &Error{abi.InvalidArgs, `the body must be {"dir": ABSOLUTE PATH}`})
		return
	}
	if !h.busy.TryLock() {
		fail(w, http.StatusConflict, &Error{abi.Conflict, "another import is running: wait until it has ended"})
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out, flush := json.NewEncoder(w), http.NewResponseController(w)
	send := func(e ImportEvent) {
		// A client that has gone ends the request's context, and so the import.
		_ = out.Encode(e)
		_ = flush.Flush()
	}
	// Whoever reads the last event may start the next import at once.
	report, err := func() (*importer.Report, error) {
		defer h.busy.Unlock()
		return h.run(r.Context(), req.Dir, func(p importer.Progress) { send(ImportEvent{Progress: &p}) })
	}()
	if err != nil {
		send(ImportEvent{Error: wireError(err)})
		return
	}
	send(ImportEvent{Report: report})
}

func fail(w http.ResponseWriter, status int, e *Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(ImportEvent{Error: e})
}

// wireError keeps the text: client and owner are one user.
func wireError(err error) *Error {
	code := abi.Internal
	var e *abi.Error
	switch {
	case errors.As(err, &e):
		code = e.Code
	case errors.Is(err, os.ErrNotExist):
		code = abi.NotFound
	}
	return &Error{code, err.Error()}
}
