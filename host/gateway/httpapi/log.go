package httpapi

import (
	"net/http"
	"runtime/debug"
	"time"

	"github.com/parley-wasm/parley/abi"
)

// recorder records the status and size of an answer.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader records the status.
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

func (a *API) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w}
		start := time.Now()
		defer func() {
			a.logger.Debug("httpapi: request", "method", r.Method, "path", r.URL.Path, "status", rec.status,
				"bytes", rec.bytes, "took", time.Since(start), "from", r.RemoteAddr)
		}()
		next.ServeHTTP(rec, r)
	})
}

// recovered limits a panic to the failure of its request.
func (a *API) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			a.logger.Error("httpapi: handler panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			if rec, ok := w.(*recorder); !ok || rec.status == 0 {
				a.fail(w, newProblem(http.StatusInternalServerError, kindInternal,
					"internal error; the gateway's log has the details", abi.Internal))
			}
		}()
		next.ServeHTTP(w, r)
	})
}
