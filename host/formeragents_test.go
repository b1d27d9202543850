package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/sink"
)

// formerAgents answer every message in the same words, at once or when they may.
type formerAgents struct {
	mu    sync.Mutex
	turns map[string]int           // so far, by session
	hang  map[string]int           // from which turn of a session on nothing is answered
	let   map[string]chan struct{} // in which sessions the first turn waits
}

func (a *formerAgents) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	hangs, let := a.count(t)
	if let != nil {
		<-let
	}
	switch {
	case hangs:
		<-ctx.Done()
		return nil, ctx.Err()
	case strings.HasPrefix(t.SessionKey, "agent:main:asks"):
		return &runner.Outcome{Text: "REPLY_SKIP"}, nil
	case t.SessionKey == "agent:ops:fails":
		return nil, errors.New("the model is overloaded")
	}
	in, out := int64(900), int64(300)
	return &runner.Outcome{Text: "an answer of " + t.AgentID + " ✓", Model: "small", Usage: &abi.Usage{Input: &in, Output: &out}}, nil
}

// count counts a turn. A child's task may say from which of its turns on it hangs.
func (a *formerAgents) count(t *runner.Turn) (hangs bool, let chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turns == nil { // of a world in which all agents answer
		return false, nil
	}
	var from int
	if n, _ := fmt.Sscanf(t.Message, "hang from turn %d", &from); n == 1 {
		a.hang[t.SessionKey] = from
	}
	a.turns[t.SessionKey]++
	n := a.turns[t.SessionKey]
	from = a.hang[t.SessionKey]
	if n == 1 {
		let = a.let[t.SessionKey]
	}
	return from != 0 && n >= from, let
}

// formerSink keeps what it gets. While it is troubled, two channels fail.
type formerSink struct {
	wall
	troubled bool
}

func (s *formerSink) Post(ctx context.Context, m *sink.Message) error {
	switch {
	case s.troubled && m.Channel == "slack":
		return &sink.Permanent{Err: errors.New("channel_not_found")}
	case s.troubled && m.Channel == "discord":
		return errors.New("503 Service Unavailable")
	}
	return s.wall.Post(ctx, m)
}
