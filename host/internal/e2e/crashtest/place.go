package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// archiveAfter is when a child is archived, after its run has ended. maxChildren is
// how many a session may have at work.
const (
	archiveAfter = time.Hour
	maxChildren  = 5
)

// place is a folder with a database and a configuration.
type place struct {
	dir      string
	sessions []*abi.Session // that are there before
	attempts int            // that a run may have
	hangs    bool           // the first command that is run, for ever
}

// session is one whose channel, if it has one, is so.
func session(key, channel string, to int) *abi.Session {
	s := &abi.Session{Key: key, SessionID: "s-" + key, UpdatedAt: 1}
	if channel != "" {
		s.DeliveryContext = abi.Target{Channel: channel, To: fmt.Sprint(to)}
	}
	return s
}

func (p *place) database() string { return filepath.Join(p.dir, "parley.db") }
func (p *place) config() string   { return filepath.Join(p.dir, "parley.json5") }

// cache keeps the compiled plugin, for all places.
func (p *place) cache() string { return filepath.Join(p.dir, "..", "..", "cache") }

// trace is where a child says what it passes.
func (p *place) trace(name string) string { return filepath.Join(p.dir, name+".trace") }

// left is where the command agent leaves what outlives a crash of the gateway.
func (p *place) left() string { return filepath.Join(p.dir, "left") }

// make writes the configuration, and a database with the sessions.
func (p *place) make(ctx context.Context, o *outside) error {
	for _, dir := range []string{p.dir, p.cache(), p.left()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	manner := "answers"
	if p.hangs {
		manner = hang
	}
	url := o.server.URL
	model := map[string]any{"kind": "openai", "baseUrl": url + "/v1", "apiKey": "none", "model": "test"}
	doc, err := json.MarshalIndent(map[string]any{
		"session": map[string]any{"agentToAgent": map[string]any{"maxPingPongTurns": 2}},
		"tools":   map[string]any{"sessions": map[string]any{"visibility": "all"}, "agentToAgent": map[string]any{"enabled": true}},
		"agents": map[string]any{
			"defaults": map[string]any{"subagents": map[string]any{
				"allowAgents": []string{"*"}, "archiveAfterMinutes": archiveAfter.Minutes(), "maxChildrenPerAgent": maxChildren,
			}},
			"list": []any{
				map[string]any{"id": "main", "default": true, "runner": model},
				map[string]any{"id": "ops", "runner": model},
				map[string]any{"id": "cmd", "runner": map[string]any{"kind": "command", "argv": []string{self, "agent", p.left(), manner}}},
			},
		},
		"delivery": map[string]any{"channels": map[string]any{
			"webhook":  map[string]any{"sink": "webhook", "url": url + "/webhook", "secret": "whsec_dGVzdA=="},
			"discord":  map[string]any{"sink": "discord", "baseUrl": url + "/discord", "token": "t"},
			"telegram": map[string]any{"sink": "telegram", "baseUrl": url + "/telegram", "token": "t"},
			"slack":    map[string]any{"sink": "slack", "baseUrl": url + "/slack", "token": "t"},
		}},
		"runs": map[string]any{"maxAttempts": p.attempts},
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.config(), doc, 0o600); err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, p.database(), nil)
	if err != nil {
		return err
	}
	err = db.Load(ctx, func(b store.Batch) error {
		var errs error
		for _, s := range p.sessions {
			_, err := b.PutSession(s, nil)
			errs = errors.Join(errs, err)
		}
		return errs
	})
	if err == nil {
		err = p.meet(ctx, db)
	}
	return errors.Join(err, db.Close())
}

// meet lets a host find the plugin's module for the first time: it keeps that in the
// store before it works for anybody, so that this is no part of what is disturbed.
func (p *place) meet(ctx context.Context, db store.Store) error {
	h, err := host.New(ctx, wasm.Parley, &host.Options{Store: db, CacheDir: p.cache(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return h.Close(ctx)
}
