package spawn

import (
	"testing"

	"github.com/parley-wasm/parley/abi"
)

// TestContexts tests the texts for agents in every run of a spawn.
func TestContexts(t *testing.T) {
	d := drive(t, mainCaller).MustCall(`{"task":"Count.","label":"the \"count\"","announce":"parent"}`).Replies("There are 42.", "Result: 42")
	want := []string{
		"Sub-agent context: you were spawned by session main, channel telegram, to do one task, labelled \"the ?count?\"; the message is the task.\n" +
			"You do not see the requester's conversation and cannot ask back. When you are done, answer with the result: it is reported to the requester. " +
			"If nothing needs to be reported, answer exactly ANNOUNCE_SKIP.",
		"Sub-agent announce context: requester session main, channel telegram, child session agent:main:subagent:1.\nThis step has no tools.",
		"Sub-agent report context: the message is the report of child session agent:main:subagent:1, which you spawned with the label \"the ?count?\".\n" +
			"Your answer is posted to this session's channel, telegram. If nothing needs to be posted, answer exactly ANNOUNCE_SKIP.",
	}
	for i, r := range d.Work.Runs {
		if r.Context != want[i] {
			t.Errorf("run %d:\n got %s\nwant %s", i+1, r.Context, want[i])
		}
	}
	if got := d.Work.Runs[1].Message; got != asked("ended well", "Result", "Notes", "There are 42.") {
		t.Errorf("S5.5 %s", got)
	}
}

func asked(how, result, notes, outcome string) string {
	return "Your task is over: the run " + how + ". Write what is reported to the requester, in this form and nothing else:\n\n" +
		result + ": what came of the task\n" + notes + ": what else they should know, or -\n\n" +
		"Status and statistics are added for you. If nothing needs to be reported, answer exactly ANNOUNCE_SKIP.\n\nTask:\nCount.\n\nResult:\n" + outcome
}

func TestAnnounceRequest(t *testing.T) {
	for _, tt := range []struct{ config, status, text, want string }{
		{`{}`, abi.RunDone, "", asked("ended well", "Result", "Notes", "(none)")},
		{`{}`, abi.RunFailed, "no model", asked("failed: no model", "Result", "Notes", "(none)")},
		{`{}`, abi.RunKilled, "", asked("was aborted", "Result", "Notes", "(none)")},
		{`{}`, abi.RunTimeout, "password=hunter2hunter2", asked("hit its time limit: password=***", "Result", "Notes", "(none)")},
		{`{"session":{"announce":{"locale":"pt"}}}`, abi.RunDone, "42", asked("ended well", "Resultado", "Notas", "42")},
	} {
		d := drive(t, mainCaller)
		d.Config = tt.config
		if got := d.MustCall(count).MustEndRun(tt.status, tt.text).Work.Runs[1].Message; got != tt.want {
			t.Errorf("S5.5\n got %s\nwant %s", got, tt.want)
		}
	}
}

// Keys have the form that the reading agent sees, and the name of a channel is one line.
func TestRequesterInContexts(t *testing.T) {
	const anotherAgent = `{"agents":{"list":[{"id":"main","subagents":{"allowAgents":["ops"]}},{"id":"ops"}]}}`
	for _, tt := range []struct {
		name, config string
		caller       abi.Caller
		rows         []abi.Session
		args, want   string
	}{
		{"another agent's child", anotherAgent, mainCaller, nil, `{"task":"x","agentId":"ops"}`, "session agent:main:main, channel telegram"},
		{"the operator", `{}`, operator, nil, count, "the operator"},
		{"requester not stored", `{}`, abi.Caller{SessionKey: "agent:main:x", AgentID: "main"}, nil, count, "session agent:main:x, channel unknown"},
		{"requester not stored, with a channel", `{}`, abi.Caller{SessionKey: "agent:main:x", AgentID: "main", Channel: "sla\nck"}, nil, count, "session agent:main:x, channel sla?ck"},
		{"requester is a cron session", `{}`, abi.Caller{SessionKey: "agent:main:cron:x", AgentID: "main", Channel: "telegram", To: "7"},
			[]abi.Session{{Key: "agent:main:cron:x", SessionID: "s", UpdatedAt: 1, DeliveryContext: abi.Target{Channel: "telegram", To: "7"}}}, count, "session agent:main:cron:x, channel internal"},
		{"global scope", `{"session":{"scope":"global"}}`, abi.Caller{SessionKey: "global", AgentID: "main"},
			[]abi.Session{{Key: "global", SessionID: "s", UpdatedAt: 1, LastChannel: "slack"}}, count, "session main, channel slack"},
	} {
		d := drive(t, tt.caller)
		d.Config, d.Store.Sessions = tt.config, append(d.Store.Sessions, tt.rows...)
		want := "Sub-agent context: you were spawned by " + tt.want + ", to do one task; the message is the task.\n"
		if got := d.MustCall(tt.args).Work.Runs[0].Context; len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, want)
		}
	}
}

// The context for a requester without a channel says that its answer stays in its
// transcript.
func TestReportWithoutAChannel(t *testing.T) {
	d := drive(t, mainCaller).MustCall(toParentCall).Replies("done")
	d.Session(main).LastTo = ""
	d.Replies("Result: 42")
	if got, want := d.Work.Runs[2].Context, "Sub-agent report context: the message is the report of child session "+child+", which you spawned.\n"+
		"This session has no channel: your answer stays in its transcript."; got != want {
		t.Errorf("S5.6\n got %s\nwant %s", got, want)
	}
}
