package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway"
)

// The network receives only the errors that the client can fix; the user's own processes
// receive all details.
func TestProblems(t *testing.T) {
	const internal = `{"ok":false,"error":{"type":"tool_error","message":"tool execution failed; the gateway's log has the details"}}`
	full := `{"ok":false,"error":{"type":"insufficient_storage","message":"` + textFull + `"}}`
	for _, c := range []struct {
		err     error
		status  int
		network string
		code    string // for processes of the user
	}{
		{abi.NewError(abi.InvalidArgs, "too big"), 400, `{"ok":false,"error":{"type":"invalid_request","message":"too big"}}`, "invalid_args"},
		{fmt.Errorf("x: %w", abi.NewError(abi.Forbidden, "yours alone")), 403, `{"ok":false,"error":{"type":"forbidden","message":"yours alone"}}`, "forbidden"},
		{abi.NewError(abi.NotFound, "gone"), 404, `{"ok":false,"error":{"type":"not_found","message":"gone"}}`, "not_found"},
		{abi.NewError(abi.Unsupported, "not here"), 404, `{"ok":false,"error":{"type":"not_found","message":"not here"}}`, "unsupported"},
		{abi.NewError(abi.Conflict, "late"), 409, `{"ok":false,"error":{"type":"conflict","message":"late"}}`, "conflict"},
		{abi.NewError(abi.Limit, "step took 5 s"), 429, `{"ok":false,"error":{"type":"too_many_requests","message":"step took 5 s"}}`, "limit"},
		{errFull, 507, full, "limit"},
		{gateway.ErrBusy, 429, `{"ok":false,"error":{"type":"too_many_requests","message":"` + gateway.ErrBusy.Error() + `"}}`, "internal"},
		{gateway.ErrClosing, 503, `{"ok":false,"error":{"type":"unavailable","message":"` + gateway.ErrClosing.Error() + `"}}`, "internal"},
		{&abi.Error{Code: abi.Internal, Message: "secret detail"}, 500, internal, "internal"},
		{errors.New("secret detail"), 500, internal, "internal"},
		{context.DeadlineExceeded, 500, internal, "internal"},
		{context.Canceled, 500, internal, "internal"},
	} {
		for _, local := range []bool{false, true} {
			a, w := &API{local: local}, httptest.NewRecorder()
			a.fail(w, a.problem(c.err))
			want := c.network
			if local {
				kind, _, _ := strings.Cut(c.network, `,"message"`)
				want = kind + `,"code":"` + c.code + `","message":"` + c.err.Error() + `"}}`
			}
			if w.Code != c.status || w.Body.String() != want {
				t.Errorf("%v: %d %s, want %d %s", c.err, w.Code, w.Body, c.status, want)
			}
			if again := w.Header().Get("Retry-After"); (again != "") != (c.err == gateway.ErrBusy || c.err == gateway.ErrClosing) {
				t.Errorf("%v: Retry-After %q", c.err, again)
			}
		}
	}
}

// The name of an unknown tool is truncated in the answer.
func TestUnknownToolIsTruncated(t *testing.T) {
	url := newServer(t, newAPI(t, newFake()))
	r := request{"POST", "/tools/invoke", []string{"Authorization: Bearer op"}, strings.NewReader(`{"tool":"` + strings.Repeat("x", 100) + `"}`)}.send(t, url)
	if want := `{"ok":false,"error":{"type":"not_found","message":"Tool not available: ` + strings.Repeat("x", 60) + `…"}}`; r.status != 404 || r.body != want {
		t.Errorf("%d %s, want %s", r.status, r.body, want)
	}
}
