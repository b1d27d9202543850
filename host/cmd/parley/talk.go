package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// The second part of the demo: two agents with written answers talk, over a
// gateway that is a process of its own, so that it can be killed.
const (
	talkFrom    = "agent:main:main"
	talkTo      = "agent:ops:desk"
	talkChannel = "webchat"
	talkToken   = "demo"
)

// talkConfig takes the webhook's address. The third answer of main is slow: the
// gateway is killed while it is being given.
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
      "All three servers are up; the disk of db-1 is 81 %% full.",
      "It grows by 2 %% a day: it lasts nine days.",
      "Checked the servers for main: all up, no disk full before next week.",
      "A backup of db-1 takes two hours.",
      "It is in the plan for Saturday night.",
      "Planned a backup of db-1 for Saturday night.",
    ] } },
  ] },
  delivery: { channels: { webchat: { sink: "webhook", url: "http://%s/in" } } },
}`

// talkReport is the member "talks" of what --json prints.
type talkReport struct {
	Request  string     `json:"request"`
	Result   rawJSON    `json:"result"` // of sessions_send
	Killed   bool       `json:"killed"` // the gateway, after the result
	Turns    []talkTurn `json:"turns"`
	Announce string     `json:"announce"` // as the webhook got it
}

type talkTurn struct {
	Session  string `json:"session"`
	Message  string `json:"message"`
	Reply    string `json:"reply"`
	Attempts int    `json:"attempts"`
	announce bool
}

func (a *app) talk(ctx context.Context, dir string) (reports []talkReport, err error) {
	t := &stage{app: a, dir: dir, name: "talk", config: talkConfig, announces: make(chan string, 8), sessions: []abi.Session{
		{Key: talkFrom, SessionID: "demo-main"},
		{Key: talkTo, SessionID: "demo-desk", DeliveryContext: abi.Target{Channel: talkChannel, To: "on-call"}},
	}}
	end, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end(syscall.SIGTERM)) }()

	a.title("\n4. Two agents talk: main asks ops, each answers the other, and ops tells its channel")
	first, err := t.exchange(ctx, "How are the servers?", false)
	if err != nil {
		return nil, err
	}
	a.title("\n5. The same, and the gateway is killed in the middle")
	second, err := t.exchange(ctx, "How long does a backup of db-1 take?", true)
	if err != nil {
		return nil, err
	}
	return []talkReport{*first, *second}, nil
}

func (a *app) title(text string) {
	if !a.JSON {
		a.out.Println(a.out.Bold(text))
	}
}

func (a *app) say(format string, args ...any) {
	if !a.JSON {
		a.out.Println(strings.TrimRight(fmt.Sprintf("  "+format, args...), " "))
	}
}

func (a *app) blank() {
	if !a.JSON {
		a.out.Println("")
	}
}

// exchange sends, and shows what follows until the announce has arrived.
func (t *stage) exchange(ctx context.Context, message string, kill bool) (*talkReport, error) {
	a, r := t.app, &talkReport{Request: message, Killed: kill}
	begin := time.Now()
	var err error
	if r.Result, err = t.invoke(ctx, abi.ToolSend, map[string]any{"sessionKey": talkTo, "message": message}); err != nil {
		return nil, err
	}
	a.blank()
	a.say("%s sessions_send to %s: %s", a.out.Accent("main"), talkTo, message)
	a.say("%s %s  %s", a.out.Good(gjson.GetBytes(r.Result, "status").Str), gjson.GetBytes(r.Result, "reply").Str, a.out.Faint(milliseconds(time.Since(begin))))
	if kill {
		if err := t.untilRunning(ctx); err != nil {
			return nil, err
		}
		if err := t.stop(syscall.SIGKILL); err != nil {
			return nil, err
		}
		a.blank()
		a.say("%s the gateway, while main is answering", a.out.Bad("kill -9"))
		if err := t.start(ctx); err != nil {
			return nil, err
		}
		a.say("another gateway starts on the same database")
	}
	if r.Announce, err = t.announced(ctx); err != nil {
		return nil, err
	}
	if r.Turns, err = t.turns(ctx); err != nil {
		return nil, err
	}
	t.show(r)
	return r, nil
}

// untilRunning waits until main has begun to answer the answer.
func (t *stage) untilRunning(ctx context.Context) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		runs, err := t.runs(ctx)
		if err != nil || len(runs) > 1 && runs[len(runs)-2].Status != abi.RunQueued {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// turns returns what the newest exchange's runs were told and said, oldest first.
func (t *stage) turns(ctx context.Context) (turns []talkTurn, err error) {
	runs, err := t.runs(ctx)
	for _, r := range slices.Backward(runs) {
		turns = append(turns, talkTurn{r.SessionKey, r.Message, r.Reply, r.Attempt, r.NoTools})
	}
	return turns, err
}

// show prints what was said after the first answer, and the announce.
func (t *stage) show(r *talkReport) {
	a := t.app
	for i, turn := range r.Turns[1:] {
		if turn.announce {
			continue
		}
		_, who, _ := strings.Cut(turn.Session, ":")
		who, _, _ = strings.Cut(who, ":")
		line := fmt.Sprintf("turn %d  %s %s", i+1, a.out.Accent(who+strings.Repeat(" ", max(4-len(who), 0))), terminal.Line(turn.Reply))
		if turn.Attempts > 1 {
			line += a.out.Bad(fmt.Sprintf("  (attempt %d: the first died with the gateway)", turn.Attempts))
		}
		a.say("%s", line)
	}
	a.say("%s %s", a.out.Good(talkChannel+" gets"), terminal.Line(r.Announce))
}

// runs returns the runs of the newest exchange, newest first.
func (t *stage) runs(ctx context.Context) (runs []*store.Run, err error) {
	err = t.ask(ctx, func(db *gateway.Database) error {
		flows, err := db.Flows(ctx, &store.Filter{Limit: 1})
		if err != nil || len(flows) == 0 {
			return err
		}
		runs, err = db.Runs(ctx, &store.Filter{FlowID: flows[0].ID})
		return err
	})
	return runs, err
}
