package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

func testParents(t *testing.T, s store.Durable) {
	parents := func(limit int) []string {
		t.Helper()
		return inView(t, s, func(ctx context.Context, v store.View) ([]string, error) { return v.Parents(ctx, limit) })
	}
	check := func(name string, limit int, want ...string) {
		t.Helper()
		if d := cmp.Diff(append([]string{}, want...), parents(limit)); d != "" {
			t.Errorf("%s, at most %d (-want +got):\n%s", name, limit, d)
		}
	}
	child := func(key, parent string, at int64, change ...func(*abi.Session)) {
		t.Helper()
		x := &abi.Session{Key: key, SpawnedBy: parent, UpdatedAt: at}
		for _, fn := range change {
			fn(x)
		}
		update(t, s, func(tx store.Tx) error { return tx.PutSession(x) })
	}
	const a, b, c, gone = "agent:a:main", "agent:b:main", "agent:c:main", "agent:a:gone"

	check("nothing", 5)
	child(a, "", 100)
	child(b, "", 50)
	check("no children", 5)
	child("agent:a:subagent:1", a, 5)
	child("agent:b:subagent:2", a, 6)
	child("agent:b:subagent:3", b, 7, func(x *abi.Session) { x.ArchivedAt = 8 })
	child("agent:b:cron:4", gone, 7) // ordered before subagent:3 by key, not by kind
	child("agent:c:global", c, 1)    // never listed
	check("all", 5, gone, b, a, c)
	check("all", 4, gone, b, a, c)
	check("some", 2, gone, b)
	check("one", 1, gone)

	held := workView(t, s)
	child("agent:a:subagent:1", a, 9)  // updated
	child("agent:b:cron:4", "", 7)     // no longer a child
	child("agent:b:subagent:2", b, 6)  // another parent
	child(b, "agent:b:subagent:3", 50) // its child is its parent
	child(c, c, math.MaxInt64)         // its own parent
	check("changed", 9, c, "agent:b:subagent:3", a, b)
	before, err := held.Parents(context.Background(), 9)
	if d := cmp.Diff([]string{gone, b, a, c}, before); d != "" || err != nil {
		t.Errorf("an older view: %v (-want +got):\n%s", err, d)
	}

	const many = 300 // children of one parent, followed by children of other parents
	update(t, s, func(tx store.Tx) error {
		for i := range many {
			err := errors.Join(
				tx.PutSession(&abi.Session{Key: fmt.Sprint("agent:d:subagent:", i), SpawnedBy: "agent:d:main", UpdatedAt: 1000}),
				tx.PutSession(&abi.Session{Key: fmt.Sprint("agent:e:subagent:", i), SpawnedBy: fmt.Sprint("agent:e:", i/3), UpdatedAt: 500 - int64(i)}))
			if err != nil {
				return err
			}
		}
		return nil
	})
	check("many children of one parent", 4, c, "agent:d:main", "agent:e:0", "agent:e:1")
	if n := len(parents(1000)); n != 2+many/3+3 {
		t.Errorf("%d parents", n)
	}
	for _, limit := range []int{0, -1} {
		if _, err := held.Parents(context.Background(), limit); !errors.Is(err, abi.InvalidArgs) {
			t.Errorf("a limit of %d: %v; want invalid_args", limit, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := held.Parents(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled context: %v", err)
	}
}
