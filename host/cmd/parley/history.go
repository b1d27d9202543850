package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// historyCmd shows what sessions_history answers.
type historyCmd struct {
	Key    string `arg:"" help:"Session: main, a key, or a sessionId."`
	Limit  int    `short:"n" default:"50" placeholder:"N" help:"At most this many messages, the newest (default ${default})."`
	Offset int    `placeholder:"N" help:"Leave out this many of the newest messages."`
	Tools  bool   `short:"t" help:"Tool results too."`
	Agent  string `placeholder:"ID" help:"The agent that a bare key belongs to; default: the default agent."`
	asFlags
}

func (*historyCmd) Help() string {
	return "Oldest message first. With --json, one result of the tool sessions_history, which holds at most 80 KiB of messages; nextOffset says where to go on."
}

// Validate checks what the tool would clamp in silence.
func (c *historyCmd) Validate() error {
	if c.Offset < 0 {
		return fmt.Errorf("--offset %d: give a number from 0", c.Offset)
	}
	return cmp.Or(checkLimit(c.Limit), checkAgent(c.Agent))
}

// Run shows the history.
func (c *historyCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(db *gateway.Database) error {
		key, err := c.key(db.Keys())
		if err != nil {
			return err
		}
		if a.JSON {
			page, err := c.ask(ctx, db, abi.ToolHistory, c.arguments(key, c.Limit, c.Offset))
			if err != nil {
				return err
			}
			return a.printJSON([]byte(page.Raw))
		}
		return c.show(ctx, a, db, key)
	})
}

// key resolves a bare key with --agent; everything else is the tool's to resolve.
func (c *historyCmd) key(keys sessionkey.Settings) (string, error) {
	if c.Agent == "" || !sessionkey.Shaped(c.Key) {
		return c.Key, nil
	}
	id, err := sessionkey.AgentID(c.Agent)
	if err != nil {
		return "", usage(err)
	}
	key, err := keys.Canonical(c.Key, id)
	if err != nil {
		return "", usage(fmt.Errorf("%s: the key %w", c.Key, err))
	}
	if keys.GlobalScope && key == sessionkey.Global {
		return sessionkey.Main, nil
	}
	return key, nil
}

// show collects pages, each of at most 80 KiB, and prints them oldest first.
func (c *historyCmd) show(ctx context.Context, a *app, db *gateway.Database, key string) error {
	var (
		pages  [][]gjson.Result // newest page first
		n      int
		offset = c.Offset
		page   gjson.Result
	)
	for {
		var err error
		if page, err = c.ask(ctx, db, abi.ToolHistory, c.arguments(key, c.Limit-n, offset)); err != nil {
			return err
		}
		messages := page.Get("messages").Array()
		pages, n = append(pages, messages), n+len(messages)
		next := page.Get("nextOffset")
		if !page.Get("hasMore").Bool() || !next.Exists() || int(next.Int()) <= offset || n >= c.Limit {
			break
		}
		offset = int(next.Int())
	}
	title := terminal.Line(page.Get("sessionKey").Str)
	a.out.Println(a.out.Bold(title) + a.out.Faint("  "+terminal.Plural(n, "message")))
	for _, messages := range slices.Backward(pages) {
		for _, m := range messages {
			a.message(m, time.Local)
		}
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
