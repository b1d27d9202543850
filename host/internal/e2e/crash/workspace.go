package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

const (
	archiveAfter = 24 * time.Hour // from the end of a child's run until it is archived
	maxChildren  = 5              // that a session may have at work
)

// workspace is a folder with a database and a configuration.
type workspace struct {
	dir      string
	sessions []*abi.Session // stored at first
	attempts int            // that a run may have
	hangs    bool           // the first command that an agent runs never ends
}

// session returns a session whose channel, if it has one, posts to a destination of this
// number.
func session(key, channel string, to int) *abi.Session {
	s := &abi.Session{Key: key, SessionID: "s-" + key, UpdatedAt: 1}
	if channel != "" {
		s.DeliveryContext = abi.Target{Channel: channel, To: fmt.Sprint(to)}
	}
	return s
}

func (w *workspace) database() string { return filepath.Join(w.dir, "parley.db") }
func (w *workspace) config() string   { return filepath.Join(w.dir, "parley.json5") }

// cache is the folder of compiled modules, which all workspaces share.
func (w *workspace) cache() string { return filepath.Join(w.dir, "..", "..", "cache") }

// trace is the file to which a process writes the points that it passes.
func (w *workspace) trace(name string) string { return filepath.Join(w.dir, name+".trace") }

// agents is the folder in which the processes of the command agent leave their ids and
// tokens.
func (w *workspace) agents() string { return filepath.Join(w.dir, "agents") }

// create writes the configuration, and a database with the sessions. A host finds the
// plugin's module for the first time and stores that before it works for a caller: create
// lets one do so, because that is not what is disturbed.
func (w *workspace) create(ctx context.Context, peers *e2e.Peers) error {
	for _, dir := range []string{w.dir, w.cache(), w.agents()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	text, err := w.configuration(peers)
	if err != nil {
		return err
	}
	if err := os.WriteFile(w.config(), text, 0o600); err != nil {
		return err
	}
	if err := e2e.PutSessions(ctx, w.database(), w.sessions...); err != nil {
		return err
	}
	return e2e.WithStore(ctx, w.database(), func(db *sqlite.DB) error {
		h, err := host.New(ctx, wasm.Parley, &host.Options{Store: db, CacheDir: w.cache(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		return h.Close(ctx)
	})
}

func (w *workspace) configuration(peers *e2e.Peers) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	behaviour := agentAnswers
	if w.hangs {
		behaviour = agentHangs
	}
	type object = map[string]any
	return json.MarshalIndent(object{
		"session": object{"agentToAgent": object{"maxPingPongTurns": 2}},
		"tools":   object{"sessions": object{"visibility": "all"}, "agentToAgent": object{"enabled": true}},
		"agents": object{
			"defaults": object{"subagents": object{
				"allowAgents": []string{"*"}, "archiveAfterMinutes": archiveAfter.Minutes(), "maxChildrenPerAgent": maxChildren,
			}},
			"list": []object{
				{"id": "main", "default": true, "runner": peers.Model()},
				{"id": "ops", "runner": peers.Model()},
				{"id": "cmd", "runner": object{"kind": "command", "argv": []string{self, roleAgent, behaviour, w.agents()}}},
			},
		},
		"delivery": object{"channels": peers.Channels()},
		"runs":     object{"maxAttempts": w.attempts},
	}, "", "  ")
}
