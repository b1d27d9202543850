package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// TestPluginIsVerified starts a host with a module that violates the vectors, under
// each verification setting.
func TestPluginIsVerified(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	wrong := bytes.ReplaceAll(wasm.Parley, []byte(`"count":`), []byte(`"kount":`))
	cache := t.TempDir()
	var log bytes.Buffer
	open := func(module []byte, origin, level string) error {
		c := config.Default()
		c.Plugins.Verify = level
		h, err := host.New(ctx, module, &host.Options{Store: db, Config: c, CacheDir: cache, Origin: origin, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			return err
		}
		return h.Close(ctx)
	}
	for _, level := range []string{config.VerifyQuick, config.VerifyAll} {
		err := open(wrong, "wrong.wasm", level)
		if !errors.Is(err, abi.InvalidArgs) || !strings.Contains(err.Error(), "S0.1/") || !strings.Contains(err.Error(), "were not run") {
			t.Errorf("%s: %v", level, err)
		}
	}
	if err := open(wasm.Parley, "right.wasm", config.VerifyQuick); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "module: verified") {
		t.Errorf("logged %s", &log)
	}
	if err := open(wrong, "wrong.wasm", config.VerifyNone); err != nil {
		t.Error(err)
	}
	// This version was active when the store was last used, so the host does not verify
	// it again.
	if err := open(wrong, "wrong.wasm", config.VerifyAll); err != nil {
		t.Error(err)
	}
}
