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
	archiveAfter = 24 * time.Hour // from the end of a child's run to its archiving
	maxChildren  = 5              // active children of a session
)

// workspace is a folder that contains a database and a configuration.
type workspace struct {
	dir      string
	sessions []*abi.Session // stored by create
	attempts int            // maximum for a run
	hangs    bool           // the first command of an agent never ends
}

// session returns a session. Unless channel is empty, to is the session's destination at
// the channel.
func session(key, channel string, to int) *abi.Session {
	s := &abi.Session{Key: key, SessionID: "s-" + key, UpdatedAt: 1}
	if channel != "" {
		s.DeliveryContext = abi.Target{Channel: channel, To: fmt.Sprint(to)}
	}
	return s
}

func (w *workspace) database() string { return filepath.Join(w.dir, "parley.db") }
func (w *workspace) config() string   { return filepath.Join(w.dir, "parley.json5") }

// cache returns the folder of compiled modules, which all workspaces share.
func (w *workspace) cache() string { return filepath.Join(w.dir, "..", "..", "cache") }

// trace returns the file to which a process writes its points.
func (w *workspace) trace(name string) string { return filepath.Join(w.dir, name+".trace") }

// agents returns the folder in which the processes of the command agent record their ids
// and tokens.
func (w *workspace) agents() string { return filepath.Join(w.dir, "agents") }

// create writes the configuration, and a database with the sessions. It also creates and
// closes a host, which stores its plugin module, so that this commit is not a point.
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
