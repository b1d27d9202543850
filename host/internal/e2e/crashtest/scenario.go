package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/parley-wasm/parley/abi"
)

const requester = "agent:main:main"

// scenario is exchanges of one kind: one call, and all that follows from it.
type scenario struct {
	name     string
	dir      string
	call     call
	receiver string         // the channel that is posted to
	agent    string         // at work first: "ops" asks the model, "cmd" runs a command
	sessions []*abi.Session // that are there before
	attempts int            // that a run may have
	only     string         // what a point is at which it halts; empty: each. The others are those of another scenario
	stops    bool           // it is stopped too
}

// sending is a scenario of a send.
func sending(receiver, agent string) *scenario {
	c := &send{tag: "#x#", from: requester, to: "agent:" + agent + ":t0", receiver: receiver}
	return &scenario{
		name: "send " + receiver + " " + agent, call: c, receiver: receiver, agent: agent, attempts: 2,
		sessions: []*abi.Session{session(c.from, "", 0), session(c.to, receiver, 0)},
	}
}

// spawning is a scenario of a spawn by a session with a channel.
func spawning(receiver string, c spawn) *scenario {
	c.tag, c.from, c.receiver, c.task = "#x#", requester, receiver, "do"
	name := "spawn " + receiver + " " + c.agent
	if c.announce == toParent {
		name += " parent"
	}
	if c.deletes {
		name += " delete"
	}
	return &scenario{
		name: name, call: &c, receiver: receiver, agent: c.agent, attempts: 2,
		sessions: []*abi.Session{session(c.from, receiver, 0)},
	}
}

// at limits a scenario to points of one kind.
func (s *scenario) at(what string) *scenario {
	s.only = what
	return s
}

// once lets runs have one attempt: they end when they are cut off.
func (s *scenario) once() *scenario {
	s.name += " once"
	s.attempts = 1
	return s
}

// stoppedToo lets the processes of a scenario be stopped, besides being killed.
func (s *scenario) stoppedToo() *scenario {
	s.stops = true
	return s
}

// scenarios returns all of them.
func scenarios() []*scenario {
	return []*scenario{
		sending("webhook", "ops").stoppedToo(),
		sending("webhook", "cmd").stoppedToo(),
		sending("discord", "ops").at(pointPost).stoppedToo(),
		sending("telegram", "ops").at(pointPost).stoppedToo(),
		sending("slack", "ops").at(pointPost).stoppedToo(),
		spawning("webhook", spawn{agent: "ops", announce: toChannel}).stoppedToo(),
		spawning("webhook", spawn{agent: "cmd", announce: toChannel}),
		spawning("webhook", spawn{agent: "ops", announce: toParent}),
		spawning("webhook", spawn{agent: "ops", announce: toChannel, deletes: true}),
		spawning("webhook", spawn{agent: "ops", announce: toChannel}).at(pointAgent).once(),
		spawning("telegram", spawn{agent: "ops", announce: toChannel}).at(pointPost),
	}
}

// honours reports whether the scenario's receiver drops what it has seen.
func (s *scenario) honours() bool { return s.receiver == "webhook" || s.receiver == "discord" }

// orders returns where the processes of a scenario halt: before and after each
// point.
func (s *scenario) orders(points []string) (all []*order) {
	for i, what := range points {
		if s.only != "" && s.only != what {
			continue
		}
		for _, after := range []bool{false, true} {
			all = append(all, &order{at: strconv.Itoa(i + 1), after: after})
		}
	}
	return all
}

// halted says what has become of the exchanges of a scenario. It fails when nothing
// was disturbed between a post and its record: where posts are points the process
// halts after them, and in most before their record too.
func (t *tally) halted(s *scenario, points int, how string, n, want int) {
	if n != want {
		t.fail("%s: %d %s, want %d", s.name, n, how, want)
	}
	least := map[string]int{"": 2, pointPost: 1}[s.only]
	if t.between < least {
		t.fail("%s: %d processes were halted between the post and its record, want %d", s.name, t.between, least)
	}
	fmt.Printf("%-26s %3d points, %3d %s, %d second attempts, %d interrupted, %d posted again, %d seen twice, %d problems\n",
		s.name, points, n, how, t.attempts, t.interrupted, t.reposts, t.repeats, len(t.problems))
}

// run runs all exchanges of a scenario.
func (s *scenario) run(ctx context.Context, t *tally) error {
	points, err := s.count(ctx)
	ways := []func(context.Context, []string, *tally) error{s.kill}
	if s.stops {
		ways = append(ways, s.stop)
	}
	for _, disturb := range ways {
		if err == nil {
			found := &tally{}
			err = disturb(ctx, points, found)
			t.add(found)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}
