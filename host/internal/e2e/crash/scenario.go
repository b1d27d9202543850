package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
)

const requester = "agent:main:main"

// scenario is exchanges of one kind: one call, and all that follows from it.
type scenario struct {
	channel  string
	agent    string // at work first: "ops" asks the model, "cmd" runs a command
	announce string // of a spawn; empty: the call is a send
	deletes  bool   // the child of a spawn, at the end
	once     bool   // runs have one attempt: they end when they are interrupted
	only     string // the kind of points to halt at; empty: all. Another scenario has the others
	stops    bool   // processes are stopped too

	dir string
}

func scenarios() []*scenario {
	return []*scenario{
		{channel: "webhook", agent: "ops", stops: true},
		{channel: "webhook", agent: "cmd", stops: true},
		{channel: "discord", agent: "ops", only: pointPost, stops: true},
		{channel: "telegram", agent: "ops", only: pointPost, stops: true},
		{channel: "slack", agent: "ops", only: pointPost, stops: true},
		{channel: "webhook", agent: "ops", announce: toChannel, stops: true},
		{channel: "webhook", agent: "cmd", announce: toChannel},
		{channel: "webhook", agent: "ops", announce: toParent},
		{channel: "webhook", agent: "ops", announce: toChannel, deletes: true},
		{channel: "webhook", agent: "ops", announce: toChannel, only: pointAgent, once: true},
		{channel: "telegram", agent: "ops", announce: toChannel, only: pointPost},
	}
}

func (s *scenario) String() string {
	words := []string{"spawn", s.channel, s.agent}
	if s.announce == "" {
		words[0] = "send"
	}
	for _, w := range []struct {
		word string
		is   bool
	}{{"parent", s.announce == toParent}, {"delete", s.deletes}, {"once", s.once}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " ")
}

// call returns the call, and the sessions that are stored before it.
func (s *scenario) call() (call, []*abi.Session) {
	if s.announce != "" {
		c := &spawn{tag: "#x#", from: requester, channel: s.channel, agent: s.agent, task: "do", announce: s.announce, deletes: s.deletes}
		return c, []*abi.Session{session(c.from, s.channel, 0)}
	}
	c := &send{tag: "#x#", from: requester, to: "agent:" + s.agent + ":t0", channel: s.channel}
	return c, []*abi.Session{session(c.from, "", 0), session(c.to, s.channel, 0)}
}

// attempts is how many attempts a run may have.
func (s *scenario) attempts() int {
	if s.once {
		return 1
	}
	return 2
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
		r.Add(s.String(), found)
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
	fmt.Printf("%-26v %3d points, %3d %s, %d problems, %s\n", s, points, r.Counted(how), how, len(r.Problems()), r.Summary())
}
