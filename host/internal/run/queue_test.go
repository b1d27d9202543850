package run_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// Runs of a session are executed one at a time and in the order of acceptance,
// whatever the order of hints, with others in between.
func TestLanes(t *testing.T) {
	const sessions, each = 20, 20
	var mu sync.Mutex
	order := map[string][]string{}
	busy := map[string]bool{}
	r := newRig(t, agentFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		mu.Lock()
		if busy[turn.SessionKey] {
			t.Errorf("two runs at once in %s", turn.SessionKey)
		}
		busy[turn.SessionKey] = true
		order[turn.SessionKey] = append(order[turn.SessionKey], turn.RunID)
		mu.Unlock()
		defer func() {
			mu.Lock()
			busy[turn.SessionKey] = false
			mu.Unlock()
		}()
		return &runner.Outcome{Text: "done"}, nil
	}))
	r.store = &shuffled{Durable: r.plain}
	for s := range sessions {
		r.session(fmt.Sprint("s", s))
	}
	id := func(s, i int) string { return fmt.Sprintf("s%d-%03d", s, i) }
	enqueue := func(from, to int) {
		for i := from; i < to; i++ {
			r.update(func(tx store.Tx) error {
				for s := range sessions {
					row := newRun(id(s, i), fmt.Sprint("s", s), group([]string{abi.GroupMain, abi.GroupSubagent, abi.GroupNested}[s%3]))
					if err := work.QueueRun(tx, row); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	enqueue(0, each/2) // found at the start
	r.start()
	enqueue(each/2, each) // heard of
	for s := range sessions {
		for i := range each {
			r.ends(id(s, i), abi.RunDone, "done")
		}
	}
	for s, got := range order {
		if !slices.IsSorted(got) || len(got) != each {
			t.Errorf("order in %s: %v", s, got)
		}
	}
}

// shuffled is a store whose hints come in another order, and twice.
type shuffled struct{ store.Durable }

func (s *shuffled) Subscribe(fn func([]store.Due)) func() {
	return s.Durable.Subscribe(func(due []store.Due) {
		mixed := append(slices.Clone(due), due...)
		rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		for _, d := range mixed {
			fn([]store.Due{d})
		}
	})
}

// silent is a store that does not tell of a run.
type silent struct {
	store.Durable
	of string
}

func (s *silent) Subscribe(fn func([]store.Due)) func() {
	return s.Durable.Subscribe(func(due []store.Due) {
		fn(slices.DeleteFunc(slices.Clone(due), func(d store.Due) bool { return d.ID == s.of }))
	})
}

func TestOlderRunIsFirstWithoutHint(t *testing.T) {
	var mu sync.Mutex
	var order []string
	r := newRig(t, agentFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, turn.RunID)
		return &runner.Outcome{}, nil
	}))
	r.store = &silent{r.plain, "first"}
	r.start()
	r.session("a")
	r.queue("first", "a")
	r.queue("second", "a")
	r.wait("second")
	r.wait("first")
	if !slices.Equal(order, []string{"first", "second"}) {
		t.Errorf("order: %v", order)
	}
}

// No more runs of a group at once than it has slots, and no fewer than could be.
func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{abi.GroupMain, abi.GroupSubagent, abi.GroupNested}
		var mu sync.Mutex
		now, most := map[string]int{}, map[string]int{}
		r := newRig(t, agentFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
			name, _, _ := strings.Cut(turn.RunID, "-")
			mu.Lock()
			now[name]++
			most[name] = max(most[name], now[name])
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now[name]--
			mu.Unlock()
			return &runner.Outcome{}, nil
		}))
		r.config.Runs.MainSlots, r.config.Agents.Subagents.MaxConcurrent = 3, 5
		for i := range 40 {
			r.session(fmt.Sprint("s", i))
			name := names[i%3]
			r.queue(fmt.Sprint(name, "-", i), fmt.Sprint("s", i), group(name))
		}
		r.start()
		for i := range 40 {
			r.wait(fmt.Sprint(names[i%3], "-", i))
		}
		want := map[string]int{abi.GroupMain: 3, abi.GroupSubagent: 5, abi.GroupNested: 13}
		for name, n := range want {
			if most[name] != n {
				t.Errorf("%s: %d at once, want %d", name, most[name], n)
			}
		}
	})
}

// With one slot, a run can wait for another one of its group: it gives its slot
// back meanwhile.
func TestSuspend(t *testing.T) {
	r := newRig(t, nil)
	r.config.Runs.MainSlots = 1
	var order []string // by the slot
	r.agent = agentFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		if turn.RunID == "outer" {
			one, two := r.Suspend("outer"), r.Suspend("outer")
			r.queue("inner", "b")
			r.queue("behind", "a")
			row, err := r.Wait(ctx, "inner")
			one()
			one()
			two()
			if err != nil {
				return nil, err
			}
			if behind := r.row("behind"); behind.Status != abi.RunQueued {
				t.Errorf("the lane of a suspended run was given away: %+v", behind)
			}
			return &runner.Outcome{Text: "heard " + row.Reply}, nil
		}
		order = append(order, turn.RunID)
		return &runner.Outcome{Text: turn.RunID}, nil
	})
	r.session("a")
	r.session("b")
	r.start()
	r.queue("outer", "a")
	r.ends("outer", abi.RunDone, "heard inner")
	r.ends("behind", abi.RunDone, "behind")
	if !slices.Equal(order, []string{"inner", "behind"}) {
		t.Errorf("order: %v", order)
	}
	r.Suspend("outer")() // it has ended
	r.Suspend("nobody")()
}
