package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/internal/storegen"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// request is a call, and the number of rows or messages in its result.
type request struct {
	tool, args, counted string
	want                int64
}

// Every hundredth request is large: its result makes the guest's memory grow.
var (
	small = request{abi.ToolList, `{"limit": 1}`, "sessions.#", 1}
	large = request{abi.ToolHistory, `{"sessionKey": "current", "limit": 100}`, "messages.#", 100}
)

// soakGo calls a host with a store, from two concurrent callers per core.
func soakGo(ctx context.Context, dir string, steps int, m *memory) error {
	return e2e.WithStore(ctx, filepath.Join(dir, "parley.db"), func(db *sqlite.DB) error { return soakHost(ctx, db, steps, m) })
}

func soakHost(ctx context.Context, db *sqlite.DB, steps int, m *memory) (err error) {
	if _, err := storegen.Generate(ctx, db, &storegen.Options{Seed: 1, Sessions: 100, LongMessages: 1000, Now: time.Now()}); err != nil {
		return err
	}
	h, err := host.New(ctx, wasm.Parley, &host.Options{Store: db, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	callers := 2 * runtime.GOMAXPROCS(0)
	for tenth := range readings {
		group, ctx := errgroup.WithContext(ctx)
		for c := range callers {
			group.Go(func() (err error) {
				for step := c; step < steps/readings && err == nil; step += callers {
					r := &small
					if step%100 == 0 {
						r = &large
					}
					err = r.send(ctx, h)
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		debug.FreeOSMemory() // resident memory must not include garbage
		n, err := e2e.Resident(os.Getpid())
		if err != nil {
			return err
		}
		m.add(reading{Steps: (tenth + 1) * steps / readings, Resident: n})
	}
	return nil
}

func (r *request) send(ctx context.Context, h *host.Host) error {
	a, err := h.Call(ctx, &host.Call{Tool: r.tool, Args: []byte(r.args), Caller: abi.Caller{SessionKey: storegen.LongKey}})
	if err != nil {
		return err
	}
	if n := gjson.GetBytes(a.Result, r.counted).Int(); n != r.want {
		return fmt.Errorf("%s %s: %d rows or messages, want %d: %.200s", r.tool, r.args, n, r.want, a.Result)
	}
	return nil
}
