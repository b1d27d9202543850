package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// The main session of the demo's agents, and the channel that they post to.
const (
	demoMain    = "agent:main:main"
	demoChannel = "webchat"
)

// demoWorld is a database with agents whose answers are written down, and a gateway
// that owns it. The gateway is a process of its own, so that it can be killed.
type demoWorld struct {
	*app // whose output it has
	db   *gateway.Database
	args []string // of the gateway
	cmd  *exec.Cmd
}

// newDemoWorld makes a world in a directory and starts its gateway.
func (a *app) newDemoWorld(ctx context.Context, dir, name, config string, sessions ...abi.Session) (*demoWorld, error) {
	o, settings := a.options(), filepath.Join(dir, name+".json5")
	if err := os.WriteFile(settings, []byte(config), 0o600); err != nil {
		return nil, err
	}
	var err error
	if o.Store, err = sqlite.NewBackend(filepath.Join(dir, name+".db"), nil); err != nil {
		return nil, err
	}
	if o.Config, err = loadConfig(settings); err != nil {
		return nil, err
	}
	if err := putSessions(ctx, o.Store, sessions); err != nil {
		return nil, err
	}
	w := &demoWorld{app: a, args: []string{"serve", "--json", "--listen", "127.0.0.1:0", "--db", o.Store.Location(), "--config", settings}}
	if err := w.start(ctx); err != nil {
		return nil, err
	}
	if w.db, err = gateway.Join(ctx, o); err != nil {
		return nil, errors.Join(err, w.stop(syscall.SIGTERM))
	}
	return w, nil
}

func putSessions(ctx context.Context, backend store.Backend, sessions []abi.Session) error {
	db, err := backend.Open(ctx)
	if err != nil {
		return err
	}
	err = db.Update(ctx, func(tx store.Tx) error {
		var errs error
		for _, s := range sessions {
			s.UpdatedAt = time.Now().UnixMilli()
			errs = errors.Join(errs, tx.PutSession(&s))
		}
		return errs
	})
	return errors.Join(err, db.Close())
}

// start starts the gateway, and returns when it is ready.
func (w *demoWorld) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w.cmd = exec.CommandContext(ctx, self, w.args...)
	w.cmd.Args[0], w.cmd.Stderr = os.Args[0], os.Stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := w.cmd.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(out).ReadBytes('\n'); err != nil {
		return errors.Join(fmt.Errorf("the gateway did not start: %w", err), w.cmd.Wait())
	}
	return nil
}

// stop ends the gateway, or kills it.
func (w *demoWorld) stop(s syscall.Signal) error {
	if err := w.cmd.Process.Signal(s); err != nil {
		return err
	}
	err := w.cmd.Wait()
	if s == syscall.SIGKILL {
		return nil // that is what it says
	}
	return err
}

// close ends the gateway as an interrupt does.
func (w *demoWorld) close(ctx context.Context) error {
	return errors.Join(w.db.Close(ctx), w.stop(syscall.SIGTERM))
}

// call calls a tool as the main session. It prints line, and the status of the result
// with one of its members.
func (w *demoWorld) call(ctx context.Context, tool string, arguments any, line, member string) (*host.Answer, error) {
	args, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	answer, err := w.db.Call(ctx, &host.Call{Tool: tool, Args: args, Caller: abi.Caller{SessionKey: demoMain, AgentID: "main"}})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tool, err)
	}
	result := gjson.ParseBytes(answer.Result)
	w.say("%s %s %s", w.out.Accent("main"), tool, line)
	w.say("%s %s  %s", w.out.Good(result.Get("status").Str), result.Get(member).Str, w.out.Faint(milliseconds(time.Since(begin))))
	return answer, nil
}

// announced returns the text that a flow has posted to the channel, when it has.
func (w *demoWorld) announced(ctx context.Context, flowID string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := w.db.WaitFlow(ctx, flowID); err != nil {
		return "", err
	}
	posts, err := w.db.Deliveries(ctx, &store.Filter{FlowID: flowID, Statuses: []string{store.DeliveryDelivered}})
	if err != nil {
		return "", err
	}
	if len(posts) != 1 {
		return "", fmt.Errorf("flow %s has posted %d texts", flowID, len(posts))
	}
	return posts[0].Text, nil
}
