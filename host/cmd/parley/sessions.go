package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// sessionsCmd lists sessions with the tool sessions_list.
type sessionsCmd struct {
	Kind     []string `placeholder:"KIND" enum:"main,group,cron,hook,node,other" help:"Only these kinds: ${enum}."`
	Limit    int      `short:"n" default:"50" placeholder:"N" help:"At most this many (default ${default})."`
	Search   string   `short:"s" placeholder:"TEXT" help:"Only with this text in key, label, name or subject."`
	Active   int      `placeholder:"MINUTES" help:"Only with activity in the last MINUTES minutes."`
	Agent    string   `placeholder:"ID" help:"Only of this agent."`
	Archived bool     `help:"Include archived sessions."`
	asFlags
}

// maxPage is the maximum number of rows or messages of one tool call.
const maxPage = 200

// Validate refuses values that the tool would clamp silently.
func (c *sessionsCmd) Validate() error {
	if c.Active < 0 {
		return fmt.Errorf("--active %d: give a number of minutes from 1", c.Active)
	}
	return cmp.Or(checkLimit(c.Limit), checkAgent(c.Agent))
}

func (c *sessionsCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(db *gateway.Database) error {
		rows, next, err := c.list(ctx, db)
		if err != nil {
			return err
		}
		switch {
		case a.JSON:
			return a.printJSON(sessionsJSON(rows, next))
		case len(rows) == 0:
			a.note("no sessions match in %s", db.Location())
			return nil
		}
		a.sessionsTable(rows, time.Now())
		if next != "" {
			a.note("there are more: show them with --limit %d", 2*c.Limit)
		}
		return nil
	})
}

// list reads pages until it has c.Limit rows or the last row. next is the cursor of the
// next page, or "".
func (c *sessionsCmd) list(ctx context.Context, db *gateway.Database) (rows []gjson.Result, next string, err error) {
	for {
		page, err := c.ask(ctx, db, abi.ToolList, c.arguments(c.Limit-len(rows), next))
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, page.Get("sessions").Array()...)
		next = page.Get("nextCursor").Str
		if next == "" || len(rows) >= c.Limit {
			return rows, next, nil
		}
	}
}

func (c *sessionsCmd) arguments(limit int, cursor string) []byte {
	o := jsonappend.Open(nil)
	o.Int("limit", int64(min(limit, maxPage)))
	o.OptStrings("kinds", c.Kind)
	o.OptString("search", c.Search)
	o.OptInt("activeMinutes", int64(c.Active))
	o.OptString("agentId", c.Agent)
	o.OptBool("includeArchived", c.Archived)
	o.OptString("cursor", cursor)
	return o.Close()
}

func sessionsJSON(rows []gjson.Result, next string) []byte {
	o := jsonappend.Open(nil)
	o.Int("count", int64(len(rows)))
	o.Raw("sessions", []byte("["+strings.Join(mapStrings(rows, func(r gjson.Result) string { return r.Raw }), ",")+"]"))
	o.OptString("nextCursor", next)
	return o.Close()
}

func (a *app) sessionsTable(rows []gjson.Result, now time.Time) {
	table(a, []string{"SESSION", "KIND", "CHANNEL", "UPDATED", "TOKENS", "NAME"}, rows, func(r gjson.Result) []string {
		kind := r.Get("kind").Str
		if r.Get("archived").Bool() {
			kind += " (archived)"
		}
		return []string{
			terminal.Line(r.Get("key").Str), terminal.Line(kind), terminal.Line(r.Get("channel").Str),
			age(now, r.Get("updatedAt").Int()), tokens(r), terminal.Line(cmp.Or(r.Get("label").Str, r.Get("displayName").Str)),
		}
	})
}

func tokens(row gjson.Result) string {
	if t := row.Get("totalTokens"); t.Exists() {
		return terminal.Count(t.Int())
	}
	return ""
}
