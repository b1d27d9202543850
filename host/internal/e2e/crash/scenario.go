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

// scenario defines the call of a trial and the points at which its processes are halted.
type scenario struct {
	channel  string
	agent    string // the agent that runs first: "ops" uses the model, "cmd" runs a command
	announce string // of a spawn; empty: the call is a send
	deletes  bool   // the child of a spawn is deleted at the end
	once     bool   // runs have one attempt, so an interrupted run ends
	only     string // kind of the points to halt at; empty: all. Other scenarios cover the others
	stops    bool   // processes are also stopped

	dir string
}

func scenarios() []*scenario {
	return []*scenario{
		{channel: "webhook", agent: "ops", stops: true},
		{channel: "webhook", agent: "cmd", stops: true},
		{channel: "discord", agent: "ops", only: pointPost, stops: true},
		{channel: "telegram", agent: "ops", only: pointPost, stops: true},
		{channel: "slack", agent: "ops", only: pointPost, stops: true},
		{channel: "webhook", agent: "ops", announce: announceChannel, stops: true},
		{channel: "webhook", agent: "cmd", announce: announceChannel},
		{channel: "webhook", agent: "ops", announce: announceParent},
		{channel: "webhook", agent: "ops", announce: announceChannel, deletes: true},
		{channel: "webhook", agent: "ops", announce: announceChannel, only: pointAgent, once: true},
		{channel: "telegram", agent: "ops", announce: announceChannel, only: pointPost},
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
	}{{"parent", s.announce == announceParent}, {"delete", s.deletes}, {"once", s.once}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " ")
}

// call returns the call, and the sessions that must be stored before it.
func (s *scenario) call() (call, []*abi.Session) {
	if s.announce != "" {
		c := &spawn{tag: "#x#", from: requester, channel: s.channel, agent: s.agent, task: "do", announce: s.announce, deletes: s.deletes}
		return c, []*abi.Session{session(c.from, s.channel, 0)}
	}
	c := &send{tag: "#x#", from: requester, to: "agent:" + s.agent + ":t0", channel: s.channel}
	return c, []*abi.Session{session(c.from, "", 0), session(c.to, s.channel, 0)}
}

// attempts returns the maximum number of attempts of a run.
func (s *scenario) attempts() int {
	if s.once {
		return 1
	}
	return 2
}

// halts returns the halts of the scenario's trials: before and after each point.
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

// run runs all trials of the scenario.
func (s *scenario) run(ctx context.Context, r *e2e.Report) error {
	points, err := s.points(ctx)
	if err != nil {
		return err
	}
	modes := map[string]func(context.Context, []string, *e2e.Report) (want int, err error){countKills: s.kill}
	if s.stops {
		modes[countStops] = s.stop
	}
	for _, mode := range []string{countKills, countStops} {
		if modes[mode] == nil {
			continue
		}
		found := &e2e.Report{}
		want, err := modes[mode](ctx, points, found)
		if err == nil {
			s.checkHalts(found, len(points), mode, want)
		}
		r.Add(s.String(), found)
		if err != nil {
			return err
		}
	}
	return nil
}

// checkHalts prints the report. It adds a problem if a process was not halted, or if too
// few were halted between a post and the commit that records the post: at least one if the
// scenario halts at posts, and at least two if it halts at every point.
func (s *scenario) checkHalts(r *e2e.Report, points int, mode string, want int) {
	if n := r.Counted(mode); n != want {
		r.Fail("%d %s, want %d", n, mode, want)
	}
	minimum := map[string]int{"": 2, pointPost: 1}[s.only]
	if n := r.Counted(countBetween); n < minimum {
		r.Fail("%d processes were halted between the post and its record, want at least %d", n, minimum)
	}
	fmt.Printf("%-26v %3d points, %3d %s, %d problems, %s\n", s, points, r.Counted(mode), mode, len(r.Problems()), r.Summary())
}
