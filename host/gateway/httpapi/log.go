package httpapi

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/parley-wasm/parley/host/internal/invoke"
)

// recorder notes what is written. http.ResponseController reaches through it.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader notes the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

func logged(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w}
		start := time.Now()
		defer func() {
			log.Debug("httpapi: request", "method", r.Method, "path", r.URL.Path, "status", rec.status,
				"bytes", rec.bytes, "took", time.Since(start), "from", r.RemoteAddr)
		}()
		next.ServeHTTP(rec, r)
	})
}

// recovered makes a panic the failure of one request.
func recovered(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			log.Error("httpapi: a handler panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			if rec, ok := w.(*recorder); !ok || rec.status == 0 {
				write(w, invoke.Failure(http.StatusInternalServerError, invoke.Internal, "something failed here; the gateway's log has the details"))
			}
		}()
		next.ServeHTTP(w, r)
	})
}
