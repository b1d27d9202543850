package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/cmd/parley/terminal"
	"github.com/parley-wasm/parley/host/gateway/auth"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
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

// stage is the world of this part.
type stage struct {
	app       *app
	dir       string
	announces chan string // texts that arrive at the webhook
	gateway   *exec.Cmd
	url       string
}

func (a *app) talk(ctx context.Context, dir string) (reports []talkReport, err error) {
	t := &stage{app: a, dir: dir, announces: make(chan string, 8)}
	hook, err := t.listen()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hook.Close()) }()
	if err := t.prepare(ctx, hook.Addr); err != nil {
		return nil, err
	}
	if err := t.start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.stop(syscall.SIGTERM)) }()

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
		a.out.Println(fmt.Sprintf("  "+format, args...))
	}
}

func (a *app) blank() {
	if !a.JSON {
		a.out.Println("")
	}
}

// listen is the channel's other end.
func (t *stage) listen() (*http.Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	var seen sync.Map
	s := &http.Server{Addr: l.Addr().String(), ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 1<<20))
		if _, again := seen.LoadOrStore(r.Header.Get("Idempotency-Key"), true); err == nil && !again {
			t.announces <- gjson.GetBytes(body, "text").Str
		}
	})}
	go func() { _ = s.Serve(l) }() // until it is closed
	return s, nil
}

func (t *stage) database() string { return filepath.Join(t.dir, "talk.db") }

// prepare writes the configuration and a database with the two sessions.
func (t *stage) prepare(ctx context.Context, hook string) error {
	err := os.WriteFile(filepath.Join(t.dir, "talk.json5"), fmt.Appendf(nil, talkConfig, hook), 0o600)
	if err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, t.database(), nil)
	if err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	err = db.Update(ctx, func(tx store.Tx) error {
		return errors.Join(
			tx.PutSession(&abi.Session{Key: talkFrom, SessionID: "demo-main", UpdatedAt: now}),
			tx.PutSession(&abi.Session{
				Key: talkTo, SessionID: "demo-desk", UpdatedAt: now,
				DeliveryContext: abi.Target{Channel: talkChannel, To: "on-call"},
			}),
		)
	})
	return errors.Join(err, db.Close())
}

// start starts the gateway.
func (t *stage) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "serve", "--json", "--listen", "127.0.0.1:0",
		"--db", t.database(), "--config", filepath.Join(t.dir, "talk.json5"))
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), auth.Variable+"="+talkToken)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.gateway = cmd
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return errors.Join(fmt.Errorf("the gateway did not start: %w", err), cmd.Wait())
	}
	t.url = gjson.GetBytes(line, "url").Str
	return nil
}

// stop ends the gateway, or kills it.
func (t *stage) stop(s syscall.Signal) error {
	if err := t.gateway.Process.Signal(s); err != nil {
		return err
	}
	err := t.gateway.Wait()
	if s == syscall.SIGKILL {
		return nil // that is what it says
	}
	return err
}

// exchange sends, and shows what follows until the announce has arrived.
func (t *stage) exchange(ctx context.Context, message string, kill bool) (*talkReport, error) {
	a, r := t.app, &talkReport{Request: message, Killed: kill}
	begin := time.Now()
	var err error
	if r.Result, err = t.send(ctx, message); err != nil {
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
	select {
	case r.Announce = <-t.announces:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Minute):
		return nil, errors.New("no announce arrived within a minute")
	}
	if r.Turns, err = t.turns(ctx); err != nil {
		return nil, err
	}
	t.show(r)
	return r, nil
}

func (t *stage) send(ctx context.Context, message string) (rawJSON, error) {
	args, err := json.Marshal(map[string]any{"sessionKey": talkTo, "message": message})
	if err != nil {
		return nil, err
	}
	body := fmt.Appendf(nil, `{"tool":%q,"sessionKey":%q,"args":%s}`, abi.ToolSend, talkFrom, args)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url+"/tools/invoke", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+talkToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s answered %d: %s", abi.ToolSend, resp.StatusCode, answer), err)
	}
	return rawJSON(gjson.GetBytes(answer, "result.details").Raw), nil
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

// runs returns the runs of the newest exchange, newest first.
func (t *stage) runs(ctx context.Context) (runs []*store.Run, err error) {
	asking := *t.app
	asking.DB, asking.Config = t.database(), filepath.Join(t.dir, "talk.json5")
	err = asking.with(ctx, func(db *database) error {
		flows, err := db.Flows(ctx, &store.Filter{Limit: 1})
		if err != nil || len(flows) == 0 {
			return err
		}
		runs, err = db.Runs(ctx, &store.Filter{FlowID: flows[0].ID})
		return err
	})
	return runs, err
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
