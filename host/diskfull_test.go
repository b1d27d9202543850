package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// fullStore fails with store.ErrFull while full is set.
type fullStore struct {
	*sqlite.DB
	full atomic.Bool
}

func (f *fullStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if f.full.Load() {
		return fmt.Errorf("test: %w", store.ErrFull)
	}
	return f.DB.Update(ctx, fn)
}

// On a full disk, requests are refused with a clear error. When there is room again, a
// repeated request is accepted and executed once.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	db := &fullStore{DB: openTestDB(t, dbPath(t))}
	h := startHost(t, db, openSettings, func(context.Context, *runner.Turn) (string, error) { return "done", nil })
	requests := map[string]func() error{
		"sessions_send": func() error {
			_, err := h.Call(t.Context(), &host.Call{
				Tool: abi.ToolSend, Caller: operator, ID: "1", Args: []byte(`{"sessionKey":"agent:main:b","message":"hello","announce":"none"}`),
			})
			return err
		},
		"chat.send": func() error {
			_, err := h.Send(t.Context(), &chat.Message{SessionKey: "agent:main:c", Text: "hello", RequestID: "2"})
			return err
		},
		"agent": func() error {
			_, err := h.StartAgent(t.Context(), &chat.AgentRequest{SessionKey: "agent:main:d", Message: "hello", RequestID: "3"})
			return err
		},
		"sessions.patch": func() error {
			label := "x"
			_, err := h.PatchSession(t.Context(), &chat.Patch{Key: "agent:main:a", Label: &label})
			return err
		},
	}
	db.full.Store(true)
	for name, try := range requests {
		if err := try(); !errors.Is(err, abi.Limit) || !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), "nothing was accepted") {
			t.Errorf("%s on a full disk: %v", name, err)
		}
	}
	db.full.Store(false)
	for range 2 {
		for name, try := range requests {
			if err := try(); err != nil {
				t.Errorf("%s with room again: %v", name, err)
			}
		}
	}
	for _, key := range []string{"agent:main:b", "agent:main:c", "agent:main:d"} {
		if n := countRuns(t, h, key); n != 1 {
			t.Errorf("%s has had %d runs, want one", key, n)
		}
	}
}
