package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway/auth"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// stage is the world of two agents that talk: a gateway of their own, and the
// webhook that is their channel's other end.
type stage struct {
	app       *app
	dir       string
	announces chan string // texts that arrive at the webhook
	gateway   *exec.Cmd
	url       string
}

// listen is the channel's other end.
func (t *stage) listen() (*http.Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	var seen sync.Map
	s := &http.Server{Addr: l.Addr().String(), ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 1<<20))
		if _, again := seen.LoadOrStore(r.Header.Get("Idempotency-Key"), true); err == nil && !again {
			t.announces <- gjson.GetBytes(body, "text").Str
		}
	})}
	go func() { _ = s.Serve(l) }() // until it is closed
	return s, nil
}

func (t *stage) database() string { return filepath.Join(t.dir, "talk.db") }

// prepare writes the configuration and a database with the two sessions.
func (t *stage) prepare(ctx context.Context, hook string) error {
	err := os.WriteFile(filepath.Join(t.dir, "talk.json5"), fmt.Appendf(nil, talkConfig, hook), 0o600)
	if err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, t.database(), nil)
	if err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	err = db.Update(ctx, func(tx store.Tx) error {
		return errors.Join(
			tx.PutSession(&abi.Session{Key: talkFrom, SessionID: "demo-main", UpdatedAt: now}),
			tx.PutSession(&abi.Session{
				Key: talkTo, SessionID: "demo-desk", UpdatedAt: now,
				DeliveryContext: abi.Target{Channel: talkChannel, To: "on-call"},
			}),
		)
	})
	return errors.Join(err, db.Close())
}

// start starts the gateway.
func (t *stage) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "serve", "--json", "--listen", "127.0.0.1:0",
		"--db", t.database(), "--config", filepath.Join(t.dir, "talk.json5"))
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), auth.Variable+"="+talkToken)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.gateway = cmd
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return errors.Join(fmt.Errorf("the gateway did not start: %w", err), cmd.Wait())
	}
	t.url = gjson.GetBytes(line, "url").Str
	return nil
}

// stop ends the gateway, or kills it.
func (t *stage) stop(s syscall.Signal) error {
	if err := t.gateway.Process.Signal(s); err != nil {
		return err
	}
	err := t.gateway.Wait()
	if s == syscall.SIGKILL {
		return nil // that is what it says
	}
	return err
}

func (t *stage) send(ctx context.Context, message string) (rawJSON, error) {
	args, err := json.Marshal(map[string]any{"sessionKey": talkTo, "message": message})
	if err != nil {
		return nil, err
	}
	body := fmt.Appendf(nil, `{"tool":%q,"sessionKey":%q,"args":%s}`, abi.ToolSend, talkFrom, args)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url+"/tools/invoke", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+talkToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s answered %d: %s", abi.ToolSend, resp.StatusCode, answer), err)
	}
	return rawJSON(gjson.GetBytes(answer, "result.details").Raw), nil
}

// runs returns the runs of the newest exchange, newest first.
func (t *stage) runs(ctx context.Context) (runs []*store.Run, err error) {
	asking := *t.app
	asking.DB, asking.Config = t.database(), filepath.Join(t.dir, "talk.json5")
	err = asking.with(ctx, func(db *database) error {
		flows, err := db.Flows(ctx, &store.Filter{Limit: 1})
		if err != nil || len(flows) == 0 {
			return err
		}
		runs, err = db.Runs(ctx, &store.Filter{FlowID: flows[0].ID})
		return err
	})
	return runs, err
}
