package run

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parley-wasm/parley/abi"
)

func bounds(main, sub int) func(string) int {
	return func(group string) int {
		switch group {
		case abi.GroupMain:
			return main
		case abi.GroupSubagent:
			return sub
		}
		return 0
	}
}

func newTicket(seq int, session, group string) *ticket {
	return &ticket{id: fmt.Sprint(seq), seq: int64(seq), session: session, group: group}
}

func ids(list []*ticket) []string {
	out := []string{}
	for _, t := range list {
		out = append(out, t.id)
	}
	slices.Sort(out)
	return out
}

func expect(t *testing.T, l *lanes, want ...string) []*ticket {
	t.Helper()
	got := l.next()
	if g := ids(got); !slices.Equal(g, want) && len(g)+len(want) > 0 {
		t.Fatalf("next() = %v, want %v", g, want)
	}
	return got
}

func TestLaneIsSerial(t *testing.T) {
	l := newLanes(bounds(0, 0))
	for _, seq := range []int{3, 1, 2} {
		l.add(newTicket(seq, "a", abi.GroupMain))
	}
	for _, want := range []string{"1", "2", "3"} {
		got := expect(t, l, want)
		expect(t, l) // the lane is taken
		l.remove(got[0])
	}
	if len(l.lanes)+len(l.groups)+len(l.tickets) != 0 {
		t.Errorf("empty lanes left: %v %v %v", l.lanes, l.groups, l.tickets)
	}
}

func TestOlderTicketReplacesReadyOne(t *testing.T) {
	l := newLanes(bounds(1, 0))
	l.add(newTicket(1, "a", abi.GroupMain))
	first := expect(t, l, "1")[0]
	l.add(newTicket(5, "b", abi.GroupMain)) // ready, no slot
	l.add(newTicket(4, "b", abi.GroupMain)) // an older ticket whose hint was late
	l.add(newTicket(3, "c", abi.GroupMain))
	for _, want := range []string{"3", "4", "5"} {
		l.remove(first)
		first = expect(t, l, want)[0]
	}
}

func TestGroupBounds(t *testing.T) {
	l := newLanes(bounds(2, 1))
	for i := range 9 {
		group := []string{abi.GroupMain, abi.GroupSubagent, abi.GroupNested}[i%3]
		l.add(newTicket(i, fmt.Sprint("s", i), group))
	}
	going := expect(t, l, "0", "1", "2", "3", "5", "8")
	for _, g := range going {
		if g.id == "1" {
			l.remove(g)
		}
	}
	expect(t, l, "4")
}

func TestSuspendedKeepsLaneOnly(t *testing.T) {
	l := newLanes(bounds(1, 0))
	a, behind, other := newTicket(1, "a", abi.GroupMain), newTicket(2, "a", abi.GroupMain), newTicket(3, "b", abi.GroupMain)
	for _, x := range []*ticket{a, behind, other} {
		l.add(x)
	}
	expect(t, l, "1")
	l.suspend(a)
	expect(t, l, "3") // not 2: its lane is taken
	l.activate(a)     // over the bound
	if used := l.groups[abi.GroupMain].used; used != 2 {
		t.Fatalf("%d slots are used, want 2", used)
	}
	l.remove(a)
	expect(t, l) // the slot above the bound is not reused
	l.remove(other)
	expect(t, l, "2")
}

func TestRequeuedKeepsLane(t *testing.T) {
	l := newLanes(bounds(1, 0))
	a, older, other := newTicket(5, "a", abi.GroupMain), newTicket(1, "a", abi.GroupMain), newTicket(9, "b", abi.GroupMain)
	l.add(a)
	expect(t, l, "5")
	l.suspend(a)
	l.add(older)
	l.add(other)
	expect(t, l, "9")
	l.requeue(a)
	expect(t, l) // no slot
	l.remove(other)
	expect(t, l, "5") // 5 holds the lane, so 1 must wait
	l.remove(a)
	expect(t, l, "1")
}

func TestRemoveInAnyState(t *testing.T) {
	l := newLanes(bounds(1, 0))
	tt := []*ticket{newTicket(1, "a", abi.GroupMain), newTicket(2, "a", abi.GroupMain), newTicket(3, "b", abi.GroupMain), newTicket(4, "b", abi.GroupMain)}
	for _, x := range tt {
		l.add(x)
	}
	expect(t, l, "1")
	l.remove(tt[1]) // waiting
	l.remove(tt[2]) // ready
	l.remove(tt[2]) // gone
	l.suspend(tt[0])
	l.remove(tt[0]) // suspended
	expect(t, l, "4")
	l.remove(tt[3])
	if len(l.lanes)+len(l.groups)+len(l.tickets) != 0 {
		t.Errorf("empty lanes left: %v %v %v", l.lanes, l.groups, l.tickets)
	}
}

// For random sequences of operations: lanes are serial, groups stay within their
// bounds except for resumed tickets, no slot is free while a ticket is ready, and all
// tickets end.
func TestLanesRandomOperations(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		l := newLanes(bounds(3, 2))
		groups := []string{abi.GroupMain, abi.GroupSubagent, abi.GroupNested}
		var running, held []*ticket // active, suspended
		lastSeq := map[string]int64{}
		started, ended, seq := 0, 0, 0
		take := func(list *[]*ticket) *ticket {
			i := rnd.IntN(len(*list))
			x := (*list)[i]
			*list = slices.Delete(*list, i, i+1)
			return x
		}
		const all = 300
		for ended < all {
			switch op := rnd.IntN(10); {
			case op < 4 && seq < all:
				seq++
				l.add(newTicket(seq, fmt.Sprint("s", rnd.IntN(20)), groups[rnd.IntN(3)]))
			case op < 6 && len(running) > 0:
				x := take(&running)
				l.suspend(x)
				held = append(held, x)
			case op < 8 && len(held) > 0:
				x := take(&held)
				l.activate(x)
				running = append(running, x)
			case len(running) > 0:
				l.remove(take(&running))
				ended++
			case len(held) > 0:
				l.remove(take(&held))
				ended++
			}
			for _, x := range l.next() {
				started++
				if x.seq < lastSeq[x.session] {
					t.Fatalf("seed %d: %d began after %d in session %s", seed, x.seq, lastSeq[x.session], x.session)
				}
				lastSeq[x.session] = x.seq
				running = append(running, x)
			}
			lanes, used := map[string]int{}, map[string]int{}
			for _, x := range append(slices.Clone(running), held...) {
				lanes[x.session]++
			}
			for _, x := range running {
				used[x.group]++
			}
			for s, n := range lanes {
				if n > 1 {
					t.Fatalf("seed %d: %d runs of session %s at once", seed, n, s)
				}
			}
			for name, g := range l.groups {
				if g.used != used[name] {
					t.Fatalf("seed %d: group %s counts %d slots, %d are used", seed, name, g.used, used[name])
				}
				if b := l.bound(name); len(g.ready) > 0 && (b == 0 || g.used < b) {
					t.Fatalf("seed %d: %d runs of group %s wait although a slot is free", seed, len(g.ready), name)
				}
			}
		}
		if started != all || len(l.lanes)+len(l.groups)+len(l.tickets) != 0 {
			t.Fatalf("seed %d: %d of %d began, %d lanes, %d groups and %d tickets are left", seed, started, all, len(l.lanes), len(l.groups), len(l.tickets))
		}
	}
}
