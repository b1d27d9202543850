package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/importer"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// demoCmd shows the tools at work on a sample, and leaves nothing behind.
type demoCmd struct {
	Dir string `default:"testdata/openclaw" placeholder:"DIR" help:"OpenClaw state directory to import; default: the repository's sample, ${default}."`
}

func (*demoCmd) Help() string {
	return "Run it in the repository, or name a directory. Everything goes into a temporary database, which is removed."
}

// demoConfig lets a session see its whole agent, so that what a sandboxed or
// foreign caller does not get can be told apart.
const demoConfig = `{
  tools: { sessions: { visibility: "agent" } },
  agents: { list: [
    { id: "main", default: true, name: "Main", subagents: { allowAgents: ["ops"] } },
    { id: "ops", name: "Operations" },
  ] },
}`

// demoCallers ask the same questions. The last one's are about the others.
var demoCallers = []struct {
	title  string
	caller abi.Caller
	calls  []demoCall
}{
	{
		"An ordinary caller: the main session of agent main, which may see all of its agent",
		abi.Caller{SessionKey: "agent:main:main", AgentID: "main"},
		[]demoCall{
			{abi.ToolList, `{"limit": 10}`},
			{abi.ToolHistory, `{"sessionKey": "main", "limit": 4}`},
			{abi.ToolAgents, `{}`},
		},
	}, {
		"A sandboxed caller: the same session, held to itself and what it spawned",
		abi.Caller{SessionKey: "agent:main:main", AgentID: "main", Sandboxed: true},
		[]demoCall{
			{abi.ToolList, `{"limit": 10}`},
			{abi.ToolHistory, `{"sessionKey": "cron:morning-brief"}`},
			{abi.ToolAgents, `{}`},
		},
	}, {
		"A foreign caller: agent ops, to whom the sessions of agent main stay closed",
		abi.Caller{SessionKey: "agent:ops:main", AgentID: "ops"},
		[]demoCall{
			{abi.ToolList, `{"agentId": "main"}`},
			{abi.ToolHistory, `{"sessionKey": "agent:main:main"}`},
			{abi.ToolAgents, `{}`},
		},
	},
}

type demoCall struct{ tool, args string }

// demoReport is what --json prints.
type demoReport struct {
	Import *importer.Report `json:"import"`
	Calls  []demoAnswer     `json:"calls"`
	Talks  []talkReport     `json:"talks"`
	Team   *teamReport      `json:"team"`
}

type demoAnswer struct {
	As        string        `json:"as"`
	Sandboxed bool          `json:"sandboxed"`
	Tool      string        `json:"tool"`
	Args      rawJSON       `json:"args"`
	Code      abi.Code      `json:"code,omitempty"`
	Result    rawJSON       `json:"result"`
	Took      time.Duration `json:"nanoseconds"`
}

// rawJSON is JSON text already.
type rawJSON []byte

// MarshalJSON returns the text.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// Run shows the demo.
func (c *demoCmd) Run(ctx context.Context, a *app) (err error) {
	if st, err := os.Stat(c.Dir); err != nil || !st.IsDir() {
		return fmt.Errorf("%s: is no directory here: run it in the repository, or name OpenClaw's state directory with --dir", c.Dir)
	}
	a.title("Parley: agents work with each other's conversations, through a sandboxed plugin")
	a.blank()
	// A reader that has seen enough, such as head, must not keep us from tidying up.
	signal.Ignore(syscall.SIGPIPE)
	temp, err := os.MkdirTemp("", "parley-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()

	g, err := a.demoDatabase(ctx, filepath.Join(temp, "demo.db"))
	if err != nil {
		return err
	}
	all, err := c.show(ctx, a, g)
	if err = errors.Join(err, g.Close(ctx)); err != nil {
		return err
	}
	if all.Talks, err = a.talk(ctx, temp); err != nil {
		return err
	}
	if all.Team, err = a.team(ctx, temp); err != nil {
		return err
	}
	if a.JSON {
		return a.printValue(all)
	}
	a.demoNext(c.Dir)
	return nil
}

func (a *app) demoDatabase(ctx context.Context, path string) (*gateway.Gateway, error) {
	o := a.options()
	var err error
	if o.Store, err = sqlite.NewBackend(path, nil); err != nil {
		return nil, err
	}
	if a.Plugin != "" {
		if o.Plugin, err = gateway.ReadPlugin(a.Plugin, ""); err != nil {
			return nil, err
		}
	}
	if a.Config != "" {
		o.Config, err = config.Load(a.Config)
	} else {
		o.Config, err = config.Parse("demo", []byte(demoConfig))
	}
	if err != nil {
		return nil, err
	}
	return gateway.Own(ctx, o)
}

// show puts the callers' questions.
func (c *demoCmd) show(ctx context.Context, a *app, g *gateway.Gateway) (*demoReport, error) {
	start := time.Now()
	report, err := g.Import(ctx, c.Dir, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Dir, err)
	}
	if !a.JSON {
		a.demoImport(report, g.About(), time.Since(start))
	}
	all := &demoReport{Import: report}
	for i, by := range demoCallers {
		a.title(fmt.Sprintf("\n%d. %s", i+1, by.title))
		for _, call := range by.calls {
			start := time.Now()
			answer, err := g.Call(ctx, &host.Call{Tool: call.tool, Args: []byte(call.args), Caller: by.caller})
			took := time.Since(start)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", call.tool, err)
			}
			all.Calls = append(all.Calls, demoAnswer{by.caller.SessionKey, by.caller.Sandboxed, call.tool, rawJSON(call.args), answer.Code, answer.Result, took})
			if !a.JSON {
				a.demoAnswer(call, answer, took)
			}
		}
	}
	return all, nil
}

func (a *app) demoImport(r *importer.Report, plugin *abi.Description, took time.Duration) {
	problems := 0
	for _, n := range r.Totals {
		problems += n
	}
	a.out.Fields(
		[2]string{"plugin", terminal.Line(fmt.Sprintf("%s %s, ABI %d, %d tools", plugin.Name, plugin.Version, plugin.ABI, len(plugin.Tools)))},
		[2]string{"imported", fmt.Sprintf("%s: %s with %s in %s", terminal.Line(r.Dir),
			terminal.Plural(r.Sessions.Inserted, "session"), terminal.Plural(r.Messages.Inserted, "message"), milliseconds(took))},
		[2]string{"problems", fmt.Sprintf("%d in the files, all reported; parley import openclaw lists them", problems)},
	)
}

// demoAnswer prints a call and what came back.
func (a *app) demoAnswer(call demoCall, answer *host.Answer, took time.Duration) {
	verdict := a.out.Good("ok")
	if answer.Code != "" {
		verdict = a.out.Bad(string(answer.Code))
	}
	a.out.Println(fmt.Sprintf("\n%s %s  %s  %s", a.out.Accent(call.tool), call.args, verdict, a.out.Faint(milliseconds(took))))
	result := gjson.ParseBytes(answer.Result)
	switch {
	case answer.Code != "":
		a.paragraph(result.Get("error").String())
	case call.tool == abi.ToolList:
		a.demoSessions(result)
	case call.tool == abi.ToolHistory:
		for _, m := range result.Get("messages").Array() {
			a.message(m, time.UTC)
		}
		if result.Get("contentRedacted").Bool() {
			a.out.Println("\n  " + a.out.Faint("(credentials in these texts were masked by the plugin)"))
		}
	case call.tool == abi.ToolAgents:
		var rows [][]string
		for _, g := range result.Get("agents").Array() {
			rows = append(rows, []string{terminal.Line(g.Get("id").Str), terminal.Line(g.Get("name").Str)})
		}
		a.out.Table([]string{"AGENT", "NAME"}, rows)
	}
}

// demoSessions is the table of sessions with dates, which do not change from day
// to day as ages do.
func (a *app) demoSessions(result gjson.Result) {
	var rows [][]string
	for _, r := range result.Get("sessions").Array() {
		rows = append(rows, []string{
			terminal.Line(r.Get("key").Str), terminal.Line(r.Get("kind").Str), terminal.Line(r.Get("channel").Str),
			time.UnixMilli(r.Get("updatedAt").Int()).UTC().Format("2006-01-02 15:04"), tokens(r),
		})
	}
	if len(rows) == 0 {
		a.out.Println("  " + a.out.Faint("(no sessions that this caller may see)"))
		return
	}
	a.out.Table([]string{"SESSION", "KIND", "CHANNEL", "UPDATED (UTC)", "TOKENS"}, rows)
}

func (a *app) demoNext(dir string) {
	a.out.Println("\n" + a.out.Bold("Now you"))
	for _, line := range [][2]string{
		{"go build -o parley ./host/cmd/parley", ""},
		{"./parley import openclaw " + dir, "or ~/.openclaw; it is only read"},
		{"./parley sessions", ""},
		{"./parley history main", ""},
		{`./parley call sessions_list '{"kinds": ["cron"], "limit": 5}'`, ""},
		{"./parley mcp", "for MCP clients, on standard input and output"},
		{"./parley serve", "over HTTP, with a token that it prints"},
	} {
		text := "  " + line[0]
		if line[1] != "" {
			text = fmt.Sprintf("  %-44s", line[0]) + a.out.Faint("  # "+line[1])
		}
		a.out.Println(text)
	}
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// title, say and blank print a line of the story, unless the report is printed.

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
