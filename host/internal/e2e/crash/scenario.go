package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
)

const requester = "agent:main:main"

// scenario is exchanges of one kind: one call, and all that follows from it.
type scenario struct {
	name     string
	dir      string
	call     call
	channel  string
	agent    string         // at work first: "ops" asks the model, "cmd" runs a command
	sessions []*abi.Session // stored at first
	attempts int            // that a run may have
	only     string         // the kind of points to halt at; empty: all. Another scenario has the others
	stops    bool           // its processes are stopped too
}

// sending is a scenario of a send.
func sending(channel, agent string) *scenario {
	c := &send{tag: "#x#", from: requester, to: "agent:" + agent + ":t0", channel: channel}
	return &scenario{
		name: "send " + channel + " " + agent, call: c, channel: channel, agent: agent, attempts: 2,
		sessions: []*abi.Session{session(c.from, "", 0), session(c.to, channel, 0)},
	}
}

// spawning is a scenario of a spawn by a session with a channel.
func spawning(channel string, c spawn) *scenario {
	c.tag, c.from, c.channel, c.task = "#x#", requester, channel, "do"
	name := "spawn " + channel + " " + c.agent
	if c.announce == toParent {
		name += " parent"
	}
	if c.deletes {
		name += " delete"
	}
	return &scenario{
		name: name, call: &c, channel: channel, agent: c.agent, attempts: 2,
		sessions: []*abi.Session{session(c.from, channel, 0)},
	}
}

// at limits a scenario to points of one kind.
func (s *scenario) at(kind string) *scenario {
	s.only = kind
	return s
}

// once gives runs one attempt: they end when they are interrupted.
func (s *scenario) once() *scenario {
	s.name += " once"
	s.attempts = 1
	return s
}

// stopped lets the processes of a scenario be stopped, besides being killed.
func (s *scenario) stopped() *scenario {
	s.stops = true
	return s
}

func scenarios() []*scenario {
	return []*scenario{
		sending("webhook", "ops").stopped(),
		sending("webhook", "cmd").stopped(),
		sending("discord", "ops").at(pointPost).stopped(),
		sending("telegram", "ops").at(pointPost).stopped(),
		sending("slack", "ops").at(pointPost).stopped(),
		spawning("webhook", spawn{agent: "ops", announce: toChannel}).stopped(),
		spawning("webhook", spawn{agent: "cmd", announce: toChannel}),
		spawning("webhook", spawn{agent: "ops", announce: toParent}),
		spawning("webhook", spawn{agent: "ops", announce: toChannel, deletes: true}),
		spawning("webhook", spawn{agent: "ops", announce: toChannel}).at(pointAgent).once(),
		spawning("telegram", spawn{agent: "ops", announce: toChannel}).at(pointPost),
	}
}

// halts returns where the processes of a scenario halt: before and after each point.
func (s *scenario) halts(points []string) (all []*halt) {
	for i, kind := range points {
		if s.only != "" && s.only != kind {
			continue
		}
		for _, after := range []bool{false, true} {
			all = append(all, &halt{At: strconv.Itoa(i + 1), After: after})
		}
	}
	return all
}

// run runs all exchanges of a scenario.
func (s *scenario) run(ctx context.Context, r *e2e.Report) error {
	points, err := s.points(ctx)
	if err != nil {
		return err
	}
	ways := map[string]func(context.Context, []string, *e2e.Report) (want int, err error){countKills: s.kill}
	if s.stops {
		ways[countStops] = s.stop
	}
	for _, how := range []string{countKills, countStops} {
		if ways[how] == nil {
			continue
		}
		found := &e2e.Report{}
		want, err := ways[how](ctx, points, found)
		if err == nil {
			s.judge(found, len(points), how, want)
		}
		r.Add(s.name, found)
		if err != nil {
			return err
		}
	}
	return nil
}

// judge prints what was found, and fails when not every process was halted, or none
// between a post and its record: where posts are points a process halts after them, and in most
// scenarios before their record too.
func (s *scenario) judge(r *e2e.Report, points int, how string, want int) {
	if n := r.Counted(how); n != want {
		r.Fail("%d %s, want %d", n, how, want)
	}
	least := map[string]int{"": 2, pointPost: 1}[s.only]
	if n := r.Counted(countBetween); n < least {
		r.Fail("%d processes were halted between the post and its record, want %d", n, least)
	}
	fmt.Printf("%-26s %3d points, %3d %s, %d problems, %s\n", s.name, points, r.Counted(how), how, len(r.Problems()), r.Summary())
}
