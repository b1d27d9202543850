package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// The last part of the demo: an agent hands tasks to children under other agents,
// and each reports to the agent's channel. One takes longer than it may.

// teamConfig takes the webhook's address. Each agent's second answer is for the
// announce.
const teamConfig = `{
  agents: {
    defaults: { model: "small" },
    list: [
      { id: "main", default: true, subagents: { allowAgents: ["logs", "disks", "backup"] }, runner: { kind: "script", replies: ["unused"] } },
      { id: "logs", runner: { kind: "script", replies: [
        { text: "3 errors since midnight, all of web-2: connection refused by db-1.", afterMs: 200, usage: { input: 5200, output: 310 } },
        "Result: 3 errors since midnight, all of web-2.\nNotes: db-1 refused its connections at 03:12",
      ] } },
      { id: "disks", runner: { kind: "script", replies: [
        { text: "db-1 is 81 %% full, the others below 40 %%.", afterMs: 500, usage: { input: 900, output: 300 } },
        "Status: failed\nResult: db-1 is 81 %% full, the others below 40 %%.\nNotes: -",
      ] } },
      { id: "backup", runner: { kind: "script", replies: [
        { text: "never said", afterMs: 3600000 },
        "Result: The backup is not complete.\nNotes: it was at db-1",
      ] } },
    ],
  },
  models: { pricing: { small: { inputPerMTok: 1, outputPerMTok: 4 } } },
  delivery: { channels: { webchat: { sink: "webhook", url: "http://%s/in" } } },
}`

// teamTasks are what the main session spawns.
var teamTasks = []teamTask{
	{"Look for errors in the logs since midnight.", "logs", "errors", 0},
	{"How full are the disks?", "disks", "disks", 0},
	{"Back up all databases.", "backup", "backup", 1},
}

// teamTask is the arguments of a spawn.
type teamTask struct {
	Task    string `json:"task"`
	AgentID string `json:"agentId"`
	Label   string `json:"label"`
	Seconds int    `json:"runTimeoutSeconds,omitempty"`
}

// teamReport is the member "team" of what --json prints.
type teamReport struct {
	Spawned   []rawJSON  `json:"spawned"`   // results of sessions_spawn
	Announces []string   `json:"announces"` // as the webhook got them, in their order
	Tree      *host.Tree `json:"tree"`
}

func (a *app) team(ctx context.Context, dir string) (r *teamReport, err error) {
	t := &stage{app: a, dir: dir, name: "team", config: teamConfig, announces: make(chan string, 8), sessions: []abi.Session{
		{Key: talkFrom, SessionID: "demo-team", DeliveryContext: abi.Target{Channel: talkChannel, To: "team"}},
	}}
	end, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end(syscall.SIGTERM)) }()

	a.title("\n6. An agent spawns children under other agents, and each reports to its channel")
	a.blank()
	r = &teamReport{}
	for _, task := range teamTasks {
		if err := t.spawn(ctx, r, &task); err != nil {
			return nil, err
		}
	}
	for range teamTasks {
		text, err := t.announced(ctx)
		if err != nil {
			return nil, err
		}
		r.Announces = append(r.Announces, text)
		a.blank()
		a.say("%s", a.out.Good(talkChannel+" gets"))
		for line := range strings.SplitSeq(text, "\n") {
			a.say("  %s", terminal.Line(line))
		}
	}
	a.blank()
	a.say("%s", a.out.Accent("parley tree"))
	return r, t.tree(ctx, r)
}

// spawn starts a child.
func (t *stage) spawn(ctx context.Context, r *teamReport, task *teamTask) error {
	begin := time.Now()
	result, err := t.invoke(ctx, abi.ToolSpawn, task)
	if err != nil {
		return err
	}
	r.Spawned = append(r.Spawned, result)
	line := fmt.Sprintf("%s sessions_spawn under %s: %s", t.app.out.Accent("main"), task.AgentID, task.Task)
	if task.Seconds > 0 {
		line += t.app.out.Faint(fmt.Sprintf("  (it may take %ds, and takes an hour)", task.Seconds))
	}
	t.app.say("%s", line)
	t.app.say("%s %s  %s", t.app.out.Good(gjson.GetBytes(result, "status").Str), gjson.GetBytes(result, "childSessionKey").Str, t.app.out.Faint(milliseconds(time.Since(begin))))
	return nil
}

// tree shows who has spawned whom, when all that was announced is recorded.
func (t *stage) tree(ctx context.Context, r *teamReport) error {
	return t.ask(ctx, func(db *gateway.Database) error {
		flows, err := db.Flows(ctx, &store.Filter{})
		if err != nil {
			return err
		}
		for _, f := range flows {
			if _, err := db.WaitFlow(ctx, f.ID); err != nil {
				return err
			}
		}
		if r.Tree, err = db.Tree(ctx, &host.TreeQuery{}); err == nil && !t.app.JSON {
			t.app.treeTable(r.Tree, time.Now())
		}
		return err
	})
}
