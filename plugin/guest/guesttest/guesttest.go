// Package guesttest provides hosts for tests of the plugin's packages: Script expects
// an exact sequence of requests, Store answers from sessions in memory.
package guesttest

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/parley-wasm/parley/plugin/guest"
)

var (
	_ guest.Host = (*Script)(nil)
	_ guest.Host = (*Store)(nil)
)

// Exchange is one request to the host and its reply, both JSON.
type Exchange struct {
	Namespace string // empty = store, * = any
	Request   string // empty = any
	Reply     string
}

// Script is a host that expects a list of exchanges in order.
type Script struct {
	t    testing.TB
	rest []Exchange
	// Requests are the requests received so far.
	Requests []string
}

// NewScript returns a Script that fails t at the first unexpected request, and when
// the test ends before all expected requests were made.
func NewScript(t testing.TB, exchanges ...Exchange) *Script {
	s := &Script{t: t, rest: exchanges}
	t.Cleanup(func() {
		if len(s.rest) > 0 && !t.Failed() {
			t.Errorf("the plugin did not request %s", s.rest[0].Request)
		}
	})
	return s
}

// Call implements guest.Host.
func (s *Script) Call(namespace string, request []byte) []byte {
	s.t.Helper()
	s.Requests = append(s.Requests, string(request))
	if len(s.rest) == 0 {
		s.t.Fatalf("unexpected request to %s: %s", namespace, request)
	}
	e := s.rest[0]
	s.rest = s.rest[1:]
	if e.Namespace == "" {
		e.Namespace = "store"
	}
	if namespace != e.Namespace && e.Namespace != "*" || e.Request != "" && !Equal(s.t, e.Request, string(request)) {
		s.t.Fatalf("request to %s:\n got %s\nwant %s: %s", namespace, request, e.Namespace, e.Request)
	}
	return []byte(e.Reply)
}

// Equal reports whether two JSON texts have the same value.
func Equal(t testing.TB, a, b string) bool {
	t.Helper()
	var va, vb any
	if err := json.Unmarshal([]byte(a), &va); err != nil {
		t.Fatalf("%v in %s", err, a)
	}
	if err := json.Unmarshal([]byte(b), &vb); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return reflect.DeepEqual(va, vb)
}
