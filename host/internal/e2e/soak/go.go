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

// question is a call, and how many rows or messages its result has.
type question struct {
	tool, args, counted string
	want                int64
}

// One call of a hundred asks for much, because that makes memory grow.
var (
	little = question{abi.ToolList, `{"limit": 1}`, "sessions.#", 1}
	much   = question{abi.ToolHistory, `{"sessionKey": "current", "limit": 100}`, "messages.#", 100}
)

// soakGo calls a host with a store, from two callers for each core.
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
					q := &little
					if step%100 == 0 {
						q = &much
					}
					err = q.ask(ctx, h)
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		// Without garbage.
		debug.FreeOSMemory()
		n, err := e2e.Resident(os.Getpid())
		if err != nil {
			return err
		}
		m.add(reading{Steps: (tenth + 1) * steps / readings, Resident: n})
	}
	return nil
}

func (q *question) ask(ctx context.Context, h *host.Host) error {
	a, err := h.Call(ctx, &host.Call{Tool: q.tool, Args: []byte(q.args), Caller: abi.Caller{SessionKey: storegen.LongKey}})
	if err != nil {
		return err
	}
	if n := gjson.GetBytes(a.Result, q.counted).Int(); n != q.want {
		return fmt.Errorf("%s %s: %d of what was asked for, want %d: %.200s", q.tool, q.args, n, q.want, a.Result)
	}
	return nil
}
