package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// The second part of the demo: two agents with written answers talk.

const demoDesk = "agent:ops:desk"

// talkConfig: the third answer of main is slow. The gateway is killed while it is
// being given.
const talkConfig = `{
  session: { agentToAgent: { maxPingPongTurns: 3 } },
  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
  agents: { list: [
    { id: "main", default: true, runner: { kind: "script", replies: [
      "Will the disk of db-1 last until Friday?",
      "Good. Nothing to do then.",
      { text: "Please add it to the plan.", afterMs: 2000 },
      "Thank you.",
    ] } },
    { id: "ops", runner: { kind: "script", replies: [
      "All three servers are up; the disk of db-1 is 81 % full.",
      "It grows by 2 % a day: it lasts nine days.",
      "Checked the servers for main: all up, no disk full before next week.",
      "A backup of db-1 takes two hours.",
      "It is in the plan for Saturday night.",
      "Planned a backup of db-1 for Saturday night.",
    ] } },
  ] },
  delivery: { channels: { webchat: { sink: "log" } } },
}`

// talkReport is the member "talks" of what --json prints.
type talkReport struct {
	Request  string     `json:"request"`
	Result   rawJSON    `json:"result"` // of sessions_send
	Killed   bool       `json:"killed"` // the gateway, after the result
	Turns    []talkTurn `json:"turns"`
	Announce string     `json:"announce"` // as it was posted
}

type talkTurn struct {
	Session  string `json:"session"`
	Message  string `json:"message"`
	Reply    string `json:"reply"`
	Attempts int    `json:"attempts"`
	announce bool
}

func (a *app) talk(ctx context.Context, dir string) (reports []talkReport, err error) {
	w, err := a.newDemoWorld(ctx, dir, "talk", talkConfig, abi.Session{Key: demoMain, SessionID: "demo-main"},
		abi.Session{Key: demoDesk, SessionID: "demo-desk", DeliveryContext: abi.Target{Channel: demoChannel, To: "on-call"}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	for _, talk := range []struct {
		title, request string
		kill           bool
	}{
		{"4. Two agents talk: main asks ops, each answers the other, and ops tells its channel", "How are the servers?", false},
		{"5. The same, and the gateway is killed in the middle", "How long does a backup of db-1 take?", true},
	} {
		a.title("\n" + talk.title)
		r, err := w.exchange(ctx, talk.request, talk.kill)
		if err != nil {
			return nil, err
		}
		reports = append(reports, *r)
	}
	return reports, nil
}

// exchange sends, and shows what follows until the announce is posted.
func (w *demoWorld) exchange(ctx context.Context, message string, kill bool) (*talkReport, error) {
	w.blank()
	answer, err := w.call(ctx, abi.ToolSend, map[string]any{"sessionKey": demoDesk, "message": message}, "to "+demoDesk+": "+message, "reply")
	if err != nil {
		return nil, err
	}
	r := &talkReport{Request: message, Killed: kill, Result: answer.Result}
	if kill {
		if err := w.replaceGateway(ctx, answer.FlowID); err != nil {
			return nil, err
		}
	}
	if r.Announce, err = w.announced(ctx, answer.FlowID); err != nil {
		return nil, err
	}
	runs, err := w.db.Runs(ctx, &store.Filter{FlowID: answer.FlowID})
	for _, run := range slices.Backward(runs) {
		r.Turns = append(r.Turns, talkTurn{run.SessionKey, run.Message, run.Reply, run.Attempt, run.NoTools})
	}
	w.showTurns(r)
	return r, err
}

// replaceGateway kills the gateway when main has begun to answer the answer, and
// starts another one.
func (w *demoWorld) replaceGateway(ctx context.Context, flowID string) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		runs, err := w.db.Runs(ctx, &store.Filter{FlowID: flowID})
		if err != nil {
			return err
		}
		if len(runs) > 1 && runs[len(runs)-2].Status != abi.RunQueued {
			break
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := w.stop(syscall.SIGKILL); err != nil {
		return err
	}
	w.blank()
	w.say("%s the gateway, while main is answering", w.out.Bad("kill -9"))
	if err := w.start(ctx); err != nil {
		return err
	}
	w.say("another gateway starts on the same database")
	return nil
}

// showTurns prints what was said after the first answer, and the announce.
func (w *demoWorld) showTurns(r *talkReport) {
	for i, turn := range r.Turns[1:] {
		if turn.announce {
			continue
		}
		agent := strings.Split(turn.Session, ":")[1]
		line := fmt.Sprintf("turn %d  %s %s", i+1, w.out.Accent(fmt.Sprintf("%-4s", agent)), terminal.Line(turn.Reply))
		if turn.Attempts > 1 {
			line += w.out.Bad(fmt.Sprintf("  (attempt %d: the first died with the gateway)", turn.Attempts))
		}
		w.say("%s", line)
	}
	w.say("%s %s", w.out.Good(demoChannel+" gets"), terminal.Line(r.Announce))
}
