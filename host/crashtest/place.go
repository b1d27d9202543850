package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

const requester = "agent:main:main"

// place is a folder with a database and a configuration.
type place struct {
	dir      string
	receiver string // the channel of the sessions
	agent    string // of the target sessions: "ops" asks the model, "cmd" runs a command
	hangs    bool   // the first command that is run, for ever
}

func (p *place) database() string { return filepath.Join(p.dir, "parley.db") }
func (p *place) config() string   { return filepath.Join(p.dir, "parley.json5") }
func (p *place) cache() string    { return filepath.Join(p.dir, "..", "cache") }

// trace is where a child says what it passes.
func (p *place) trace(name string) string { return filepath.Join(p.dir, name+".trace") }

// left is where the command agent leaves what outlives a crash of the gateway.
func (p *place) left() string { return filepath.Join(p.dir, "left") }

func (p *place) target(i int) string { return fmt.Sprintf("agent:%s:t%d", p.agent, i) }

// make writes the configuration, and a database with one requester and so many
// target sessions.
func (p *place) make(ctx context.Context, o *outside, targets, attempts int) error {
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
		"agents": map[string]any{"list": []any{
			map[string]any{"id": "main", "default": true, "runner": model},
			map[string]any{"id": "ops", "runner": model},
			map[string]any{"id": "cmd", "runner": map[string]any{"kind": "command", "argv": []string{self, "agent", p.left(), manner}}},
		}},
		"delivery": map[string]any{"channels": map[string]any{
			"webhook":  map[string]any{"sink": "webhook", "url": url + "/webhook", "secret": "whsec_dGVzdA=="},
			"discord":  map[string]any{"sink": "discord", "baseUrl": url + "/discord", "token": "t"},
			"telegram": map[string]any{"sink": "telegram", "baseUrl": url + "/telegram", "token": "t"},
			"slack":    map[string]any{"sink": "slack", "baseUrl": url + "/slack", "token": "t"},
		}},
		"runs": map[string]any{"maxAttempts": attempts},
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
		_, err := b.PutSession(&abi.Session{Key: requester, SessionID: "s-main", UpdatedAt: 1}, nil)
		for i := range targets {
			key := p.target(i)
			_, put := b.PutSession(&abi.Session{
				Key: key, SessionID: "s-" + key, UpdatedAt: 1,
				DeliveryContext: abi.Target{Channel: p.receiver, To: fmt.Sprint(i)},
			}, nil)
			err = errors.Join(err, put)
		}
		return err
	})
	return errors.Join(err, db.Close())
}
