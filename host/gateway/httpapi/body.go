package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// defaultMaxBody is the default limit for bodies, in bytes. An endpoint may raise it.
const defaultMaxBody = 2 << 20

// timed sets the read deadline of a request with a body. The deadline stays set if the
// body is not read to its end, because the server then waits for the rest before it
// closes the connection.
func (a *API) timed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			setReadDeadline(w, time.Now().Add(a.bodyTimeout))
		}
		next.ServeHTTP(w, r)
	})
}

// setReadDeadline sets the read deadline of the request's connection. It does nothing for
// writers without a connection, such as those of tests.
func setReadDeadline(w http.ResponseWriter, t time.Time) {
	_ = http.NewResponseController(w).SetReadDeadline(t)
}

// body reads a request's body, which must have at most limit bytes and arrive before the
// read deadline.
func (a *API) body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *problem) {
	tooLarge := newProblem(http.StatusRequestEntityTooLarge, kindTooLarge,
		fmt.Sprintf("the body is longer than %d bytes", limit), abi.InvalidArgs)
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var big *http.MaxBytesError
	switch {
	case err == nil:
		setReadDeadline(w, time.Time{}) // the answer has no deadline
		return body, nil
	case errors.As(err, &big):
		return nil, tooLarge
	}
	w.Header().Set("Connection", "close")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, newProblem(http.StatusRequestTimeout, kindTimeout,
			fmt.Sprintf("the body did not arrive within %s", a.bodyTimeout), abi.InvalidArgs)
	}
	return nil, newProblem(http.StatusBadRequest, kindInvalid, "the body could not be read", abi.InvalidArgs)
}

func bytesBody(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

// readBody parses a request's body. It fails with abi.InvalidArgs if the body is not one
// strict JSON object, or has a wrong member, which the error names.
func readBody(body []byte, to jsonobject.Reader, mode jsonobject.Mode) error {
	if err := jsonstrict.Check(body); err != nil {
		return invalid("the body is not strict JSON: %v", err)
	}
	switch p := to.ReadJSON(gjson.ParseBytes(body), mode); {
	case p == nil:
		return nil
	case p.Document():
		return invalid("the body must be a JSON object")
	default:
		p.Name = truncate(p.Name)
		return invalid("%v", p)
	}
}

// required rejects a blank value.
func required(name, value string) error {
	if strings.TrimSpace(value) == "" {
		return invalid("%s is required", name)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return abi.NewError(abi.InvalidArgs, fmt.Sprintf(format, args...))
}

func truncate(s string) string {
	const most = 60
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}
