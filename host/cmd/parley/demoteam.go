package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// The last part of the demo: an agent hands tasks to children under other agents,
// and each reports to the agent's channel. One takes longer than it may.

// teamConfig: each agent's second answer is for the announce.
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
        { text: "db-1 is 81 % full, the others below 40 %.", afterMs: 500, usage: { input: 900, output: 300 } },
        "Status: failed\nResult: db-1 is 81 % full, the others below 40 %.\nNotes: -",
      ] } },
      { id: "backup", runner: { kind: "script", replies: [
        { text: "never said", afterMs: 3600000 },
        "Result: The backup is not complete.\nNotes: it was at db-1",
      ] } },
    ],
  },
  models: { pricing: { small: { inputPerMTok: 1, outputPerMTok: 4 } } },
  delivery: { channels: { webchat: { sink: "log" } } },
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
	Announces []string   `json:"announces"` // as they were posted, in the order of the tasks
	Tree      *host.Tree `json:"tree"`
}

func (a *app) team(ctx context.Context, dir string) (r *teamReport, err error) {
	w, err := a.newDemoWorld(ctx, dir, "team", teamConfig,
		abi.Session{Key: demoMain, SessionID: "demo-team", DeliveryContext: abi.Target{Channel: demoChannel, To: "team"}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()

	a.title("\n6. An agent spawns children under other agents, and each reports to its channel")
	a.blank()
	r = &teamReport{}
	var flows []string
	for _, task := range teamTasks {
		line := fmt.Sprintf("under %s: %s", task.AgentID, task.Task)
		if task.Seconds > 0 {
			line += a.out.Faint(fmt.Sprintf("  (it may take %ds, and takes an hour)", task.Seconds))
		}
		answer, err := w.call(ctx, abi.ToolSpawn, &task, line, "childSessionKey")
		if err != nil {
			return nil, err
		}
		r.Spawned, flows = append(r.Spawned, answer.Result), append(flows, answer.FlowID)
	}
	for _, id := range flows {
		text, err := w.announced(ctx, id)
		if err != nil {
			return nil, err
		}
		r.Announces = append(r.Announces, text)
		a.blank()
		a.say("%s", a.out.Good(demoChannel+" gets"))
		for line := range strings.SplitSeq(text, "\n") {
			a.say("  %s", terminal.Line(line))
		}
	}
	a.blank()
	a.say("%s", a.out.Accent("parley tree"))
	if r.Tree, err = w.db.Tree(ctx, &host.TreeQuery{}); err == nil && !a.JSON {
		a.treeTable(r.Tree, time.Now())
	}
	return r, err
}
