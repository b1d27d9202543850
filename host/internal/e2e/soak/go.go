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
	"github.com/parley-wasm/parley/host/internal/storegen"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// errand is a call, and how many rows or messages its result has.
type errand struct {
	tool, args, counted string
	want                int64
}

// Of a hundred calls one asks for much, which is what makes memory grow.
var (
	little = errand{abi.ToolList, `{"limit": 1}`, "sessions.#", 1}
	much   = errand{abi.ToolHistory, `{"sessionKey": "current", "limit": 100}`, "messages.#", 100}
)

// soakGo calls a host with a store, from two callers for each core.
func soakGo(ctx context.Context, steps int, r *record) (err error) {
	dir, err := os.MkdirTemp("", "parley-soak-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "parley.db"), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
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
		g, ctx := errgroup.WithContext(ctx)
		for c := range callers {
			g.Go(func() error {
				for step := c; step < steps/readings; step += callers {
					e := &little
					if step%100 == 0 {
						e = &much
					}
					if err := e.run(ctx, h); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		// What is garbage says nothing.
		debug.FreeOSMemory()
		n, err := resident()
		if err != nil {
			return err
		}
		r.add(reading{Steps: (tenth + 1) * steps / readings, Resident: n})
	}
	return nil
}

func (e *errand) run(ctx context.Context, h *host.Host) error {
	a, err := h.Call(ctx, &host.Call{Tool: e.tool, Args: []byte(e.args), Caller: abi.Caller{SessionKey: storegen.LongKey}})
	if err != nil {
		return err
	}
	if n := gjson.GetBytes(a.Result, e.counted).Int(); n != e.want {
		return fmt.Errorf("%s %s: %d of what was asked for, want %d: %.200s", e.tool, e.args, n, e.want, a.Result)
	}
	return nil
}
