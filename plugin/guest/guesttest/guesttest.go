// Package guesttest has hosts for tests of the plugin's packages: Script expects
// an exact conversation, Store answers from sessions in memory.
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
	Family  string // empty = store, * = any
	Request string // empty = any
	Reply   string
}

// Script is a host that expects the exchanges in their order.
type Script struct {
	t    testing.TB
	rest []Exchange
	// Requests are those that were made so far.
	Requests []string
}

// NewScript returns a Script that fails t at the first request that is not the
// expected one, and when the test ends before all were made.
func NewScript(t testing.TB, exchanges ...Exchange) *Script {
	s := &Script{t: t, rest: exchanges}
	t.Cleanup(func() {
		if len(s.rest) > 0 && !t.Failed() {
			t.Errorf("the host was not asked for %s", s.rest[0].Request)
		}
	})
	return s
}

// Call implements guest.Host.
func (s *Script) Call(family string, request []byte) []byte {
	s.t.Helper()
	s.Requests = append(s.Requests, string(request))
	if len(s.rest) == 0 {
		s.t.Fatalf("unexpected request to %s: %s", family, request)
	}
	e := s.rest[0]
	s.rest = s.rest[1:]
	if e.Family == "" {
		e.Family = "store"
	}
	if family != e.Family && e.Family != "*" || e.Request != "" && !Equal(s.t, e.Request, string(request)) {
		s.t.Fatalf("request to %s:\n got %s\nwant %s: %s", family, request, e.Family, e.Request)
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
