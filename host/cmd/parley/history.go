package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// historyCmd shows a session's conversation with the tool sessions_history.
type historyCmd struct {
	Key    string `arg:"" help:"Session: main, a key, or a sessionId."`
	Limit  int    `short:"n" default:"50" placeholder:"N" help:"At most this many messages, the newest (default ${default})."`
	Offset int    `placeholder:"N" help:"Skip this many of the newest messages."`
	Tools  bool   `short:"t" help:"Include tool results."`
	Agent  string `placeholder:"ID" help:"The agent that a bare key belongs to; default: the default agent."`
	asFlags
}

func (*historyCmd) Help() string {
	return "Messages are printed oldest first. With --json, the command prints one result of the tool sessions_history, which has at most 80 KiB of messages; its nextOffset is the value of --offset for the next page."
}

// Validate refuses values that the tool would clamp silently.
func (c *historyCmd) Validate() error {
	if c.Offset < 0 {
		return fmt.Errorf("--offset %d: give a number from 0", c.Offset)
	}
	return cmp.Or(checkLimit(c.Limit), checkAgent(c.Agent))
}

func (c *historyCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(db *gateway.Database) error {
		key, err := c.key(db.Keys())
		if err != nil {
			return err
		}
		if !a.JSON {
			return c.show(ctx, a, db, key)
		}
		page, err := c.ask(ctx, db, abi.ToolHistory, c.arguments(key, c.Limit, c.Offset))
		if err != nil {
			return err
		}
		return a.printJSON([]byte(page.Raw))
	})
}

// key returns the key to pass to the tool. It resolves a bare key for the agent of --agent;
// the tool resolves all other keys.
func (c *historyCmd) key(keys sessionkey.Settings) (string, error) {
	if c.Agent == "" || !sessionkey.HasKeyForm(c.Key) {
		return c.Key, nil
	}
	id, _ := sessionkey.AgentID(c.Agent) // checked by Validate
	key, err := keys.Canonical(c.Key, id)
	if err != nil {
		return "", usage(fmt.Errorf("%s: the key %w", c.Key, err))
	}
	if keys.GlobalScope && key == sessionkey.Global {
		return sessionkey.Main, nil
	}
	return key, nil
}

// show reads pages of at most 80 KiB each and prints the messages, oldest first.
func (c *historyCmd) show(ctx context.Context, a *app, db *gateway.Database, key string) error {
	var (
		all  []gjson.Result
		page gjson.Result
		err  error
	)
	for offset, more := c.Offset, true; more; {
		if page, err = c.ask(ctx, db, abi.ToolHistory, c.arguments(key, c.Limit-len(all), offset)); err != nil {
			return err
		}
		all = append(page.Get("messages").Array(), all...)
		next := int(page.Get("nextOffset").Int())
		more = page.Get("hasMore").Bool() && next > offset && len(all) < c.Limit
		offset = next
	}
	title := terminal.Line(page.Get("sessionKey").Str)
	a.out.Println(a.out.Bold(title) + a.out.Faint("  "+terminal.Plural(len(all), "message")))
	for _, m := range all {
		a.message(m)
	}
	if page.Get("hasMore").Bool() {
		a.note("there are older messages: --offset %d", page.Get("nextOffset").Int())
	}
	return nil
}

func (c *historyCmd) arguments(key string, limit, offset int) []byte {
	o := jsonappend.Open(nil)
	o.String("sessionKey", key)
	o.Int("limit", int64(min(limit, maxPage)))
	o.Int("offset", int64(offset))
	o.OptBool("includeTools", c.Tools)
	return o.Close()
}

// message prints one transcript message: a heading with the local time, then its blocks,
// indented.
func (a *app) message(m gjson.Result) {
	role := terminal.Line(m.Get("role").String())
	if role == "" {
		role = "message"
	}
	head := a.out.Accent(role)
	if role == "toolResult" || role == "tool" {
		head += " " + terminal.Line(m.Get("toolName").String())
		if m.Get("isError").Bool() {
			head += a.out.Bad(" failed")
		}
	}
	if at := m.Get("timestamp"); at.Type == gjson.Number {
		head += a.out.Faint("  " + date(at.Int()))
	}
	if from := m.Get("provenance.sourceSessionKey"); from.Type == gjson.String {
		head += a.out.Faint("  from " + terminal.Line(from.Str))
	}
	a.out.Println("\n" + head)

	content := m.Get("content")
	switch {
	case content.Type == gjson.String:
		a.paragraph(content.Str)
	case content.IsArray():
		for _, block := range content.Array() {
			a.block(block)
		}
	case content.Exists():
		a.paragraph(content.Raw)
	default:
		a.out.Println("  " + a.out.Faint("(no content)"))
	}
	if e := m.Get("errorMessage"); e.Type == gjson.String {
		a.paragraph("error: " + e.Str)
	}
}

// block prints one block of a message's content.
func (a *app) block(b gjson.Result) {
	switch b.Get("type").Str {
	case "text":
		a.paragraph(b.Get("text").String())
	case "thinking":
		for line := range strings.SplitSeq(terminal.Text(strings.TrimSpace(b.Get("thinking").String())), "\n") {
			a.out.Println("  " + a.out.Faint("· "+line))
		}
	case "toolCall":
		line := "→ " + terminal.Line(b.Get("name").String()) + " " + terminal.Line(b.Get("arguments").Raw)
		a.out.Println("  " + a.out.Accent(a.out.Fit(line, 2)))
	case "image":
		line := "[image " + terminal.Line(b.Get("mimeType").String())
		if n := b.Get("bytes"); n.Exists() {
			line += ", " + terminal.Size(n.Int())
		}
		a.out.Println("  " + a.out.Faint(line+"]"))
	default:
		a.out.Println("  " + a.out.Fit(fmt.Sprintf("[%s] %s", terminal.Line(b.Get("type").String()), terminal.Line(b.Raw)), 2))
	}
}

func (a *app) paragraph(text string) {
	for line := range strings.SplitSeq(terminal.Text(strings.TrimRight(text, "\n ")), "\n") {
		a.out.Println(strings.TrimRight("  "+line, " "))
	}
}
