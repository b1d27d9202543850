package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/parley-wasm/parley/abi"
)

// defaultMaxBody bounds a body that an endpoint says nothing of, in bytes.
const defaultMaxBody = 2 << 20

// timed gives a request with a body the time until its deadline. It stays set
// when the body is not read to its end, because the server then waits for the
// rest before it closes the connection.
func (a *API) timed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			setReadDeadline(w, time.Now().Add(a.bodyTimeout))
		}
		next.ServeHTTP(w, r)
	})
}

// setReadDeadline works with the server's own writers, and does nothing with
// those of tests and wrappers, which have no deadlines.
func setReadDeadline(w http.ResponseWriter, t time.Time) {
	_ = http.NewResponseController(w).SetReadDeadline(t)
}

// body reads a request's body of at most so many bytes, within the time allowed for
// it, or returns why not.
func (a *API) body(w http.ResponseWriter, r *http.Request, most int64) ([]byte, *problem) {
	tooLarge := &problem{http.StatusRequestEntityTooLarge, kindTooLarge, fmt.Sprintf("the body is longer than %d bytes", most), abi.InvalidArgs}
	if r.ContentLength > most {
		w.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var big *http.MaxBytesError
	switch {
	case err == nil:
		setReadDeadline(w, time.Time{}) // the answer may take its time
		return body, nil
	case errors.As(err, &big):
		return nil, tooLarge
	}
	w.Header().Set("Connection", "close")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &problem{http.StatusRequestTimeout, kindTimeout, fmt.Sprintf("the body did not arrive within %s", a.bodyTimeout), abi.InvalidArgs}
	}
	return nil, &problem{http.StatusBadRequest, kindInvalid, "the body could not be read", abi.InvalidArgs}
}

func bytesBody(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }
