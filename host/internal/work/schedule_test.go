package work

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/parley-wasm/parley/host/store"
)

// drain removes all entries and returns their ids in order.
func drain(p *schedule) []string {
	var got []string
	for e := p.first(); e != nil; e = p.first() {
		p.begin(e)
		p.done(e)
		got = append(got, e.id)
	}
	return got
}

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestScheduleOrder(t *testing.T) {
	p := newSchedule()
	p.set("c", 30)
	p.set("a", 10)
	p.set("b", 40)
	p.set("b", 20) // reschedule
	check(t, drain(&p), "a", "b", "c")
	if len(p.entries) != 0 {
		t.Errorf("%d entries left", len(p.entries))
	}
}

func TestScheduleWhileHandled(t *testing.T) {
	p := newSchedule()
	p.set("a", 10)
	e := p.first()
	p.begin(e)
	if p.first() != nil {
		t.Fatal("an entry that is being handled is due")
	}
	p.set("a", 50)
	p.done(e)
	check(t, drain(&p), "a")
}

func TestScheduleBackoff(t *testing.T) {
	p := newSchedule()
	now := time.UnixMilli(1000)
	p.set("a", 10)
	for _, want := range []time.Duration{50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
		e := p.first()
		p.begin(e)
		p.failed(e, now)
		if got := e.due().Sub(now); got != want*time.Millisecond {
			t.Errorf("after %d failures: %s, want %s", e.failures, got, want*time.Millisecond)
		}
		p.set("a", 20) // rescheduling must not shorten the backoff
		p.replace([]store.Due{{ID: "a", At: 30}}, nil)
	}
	check(t, drain(&p), "a")
	p.set("a", 10)
	if e := p.first(); e.failures != 0 || !e.due().Equal(time.UnixMilli(10)) {
		t.Errorf("a success did not reset the backoff: %+v", e)
	}
}

func TestScheduleReplace(t *testing.T) {
	p := newSchedule()
	for i, id := range []string{"stays", "moves", "goes", "hinted", "handled"} {
		p.set(id, int64(100+i))
	}
	handled := p.entries["handled"]
	p.begin(handled)
	newer := map[string]struct{}{"hinted": {}, "gone": {}}
	p.replace([]store.Due{
		{ID: "stays", At: 100}, {ID: "moves", At: 50}, {ID: "comes", At: 10},
		{ID: "hinted", At: 1}, {ID: "gone", At: 1}, {ID: "handled", At: 1},
	}, newer)
	check(t, drain(&p), "comes", "moves", "stays", "hinted")
	p.done(handled)
	check(t, drain(&p))
}

func TestScheduleRandomOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	p := newSchedule()
	want := map[string]int64{}
	for range 5000 {
		id, at := fmt.Sprint(rnd.IntN(800)), rnd.Int64N(1000)
		p.set(id, at)
		want[id] = at
	}
	last := int64(-1)
	for _, id := range drain(&p) {
		if want[id] < last {
			t.Fatalf("%s, due at %d, was returned after one due at %d", id, want[id], last)
		}
		last = want[id]
		delete(want, id)
	}
	if len(want) != 0 {
		t.Errorf("%d entries were never returned", len(want))
	}
}
