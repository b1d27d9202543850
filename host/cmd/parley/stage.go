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
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// stage is a world of agents: a gateway of their own, and the webhook that is their
// channel's other end.
type stage struct {
	app       *app
	dir       string
	name      string // of its files
	config    string // takes the webhook's address
	sessions  []abi.Session
	announces chan string // texts that arrive at the webhook
	gateway   *exec.Cmd
	url       string
}

// begin prepares the stage and starts its gateway. end ends both.
func (t *stage) begin(ctx context.Context) (end func(syscall.Signal) error, err error) {
	hook, err := t.listen()
	if err != nil {
		return nil, err
	}
	if err = t.prepare(ctx, hook.Addr); err == nil {
		err = t.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, hook.Close())
	}
	return func(s syscall.Signal) error { return errors.Join(t.stop(s), hook.Close()) }, nil
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

func (t *stage) database() string { return filepath.Join(t.dir, t.name+".db") }
func (t *stage) settings() string { return filepath.Join(t.dir, t.name+".json5") }

// prepare writes the configuration and a database with the sessions.
func (t *stage) prepare(ctx context.Context, hook string) error {
	err := os.WriteFile(t.settings(), fmt.Appendf(nil, t.config, hook), 0o600)
	if err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, t.database(), nil)
	if err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	err = db.Update(ctx, func(tx store.Tx) error {
		var errs error
		for _, s := range t.sessions {
			s.UpdatedAt = now
			errs = errors.Join(errs, tx.PutSession(&s))
		}
		return errs
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
		"--db", t.database(), "--config", t.settings())
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), gateway.TokenVariable+"="+talkToken)
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

// invoke calls a tool as the main session, and returns its result.
func (t *stage) invoke(ctx context.Context, tool string, arguments any) (rawJSON, error) {
	args, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	body := fmt.Appendf(nil, `{"tool":%q,"sessionKey":%q,"args":%s}`, tool, talkFrom, args)
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
		return nil, errors.Join(fmt.Errorf("%s answered %d: %s", tool, resp.StatusCode, answer), err)
	}
	return rawJSON(gjson.GetBytes(answer, "result.details").Raw), nil
}

// announced returns the next text that arrives at the webhook.
func (t *stage) announced(ctx context.Context) (string, error) {
	select {
	case text := <-t.announces:
		return text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(time.Minute):
		return "", errors.New("no announce arrived within a minute")
	}
}

// ask asks the stage's database, as a command would.
func (t *stage) ask(ctx context.Context, fn func(*gateway.Database) error) error {
	asking := *t.app
	asking.DB, asking.Config = t.database(), t.settings()
	return asking.with(ctx, fn)
}
