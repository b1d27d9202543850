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

// Runs of a session are executed one at a time, in the order of acceptance, whatever
// the order of the hints is and although runs of other sessions come between them.
func TestLanes(t *testing.T) {
	const sessions, each = 20, 20
	var mu sync.Mutex
	order := map[string][]string{}
	busy := map[string]bool{}
	r := newFixture(t, runnerFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
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
	r.store = &shuffledHints{Durable: r.plain}
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
	enqueue(0, each/2) // loaded at the start
	r.start()
	enqueue(each/2, each) // received by hints
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

// shuffledHints is a store that sends each hint twice, in random order.
type shuffledHints struct{ store.Durable }

func (s *shuffledHints) Subscribe(fn func([]store.Due)) func() {
	return s.Durable.Subscribe(func(due []store.Due) {
		mixed := append(slices.Clone(due), due...)
		rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		for _, d := range mixed {
			fn([]store.Due{d})
		}
	})
}

// withoutHint is a store that sends no hint for one run.
type withoutHint struct {
	store.Durable
	id string
}

func (s *withoutHint) Subscribe(fn func([]store.Due)) func() {
	return s.Durable.Subscribe(func(due []store.Due) {
		fn(slices.DeleteFunc(slices.Clone(due), func(d store.Due) bool { return d.ID == s.id }))
	})
}

func TestOlderRunWithoutHintIsFirst(t *testing.T) {
	var mu sync.Mutex
	var order []string
	r := newFixture(t, runnerFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, turn.RunID)
		return &runner.Outcome{}, nil
	}))
	r.store = &withoutHint{r.plain, "first"}
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

// A group uses all its slots, and no more.
func TestGroupSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{abi.GroupMain, abi.GroupSubagent, abi.GroupNested}
		var mu sync.Mutex
		now, most := map[string]int{}, map[string]int{}
		r := newFixture(t, runnerFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
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

// With one slot, a run can wait for another run of its group, because it releases its
// slot.
func TestSuspend(t *testing.T) {
	r := newFixture(t, nil)
	r.config.Runs.MainSlots = 1
	var order []string // of the runs that use the slot of "outer"
	r.rn = runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
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
				t.Errorf("the lane of a suspended run was released: %+v", behind)
			}
			return &runner.Outcome{Text: "got " + row.Reply}, nil
		}
		order = append(order, turn.RunID)
		return &runner.Outcome{Text: turn.RunID}, nil
	})
	r.session("a")
	r.session("b")
	r.start()
	r.queue("outer", "a")
	r.ends("outer", abi.RunDone, "got inner")
	r.ends("behind", abi.RunDone, "behind")
	if !slices.Equal(order, []string{"inner", "behind"}) {
		t.Errorf("order: %v", order)
	}
	r.Suspend("outer")() // an ended run
	r.Suspend("unknown")()
}
