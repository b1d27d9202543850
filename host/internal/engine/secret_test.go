package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/engine/hostiletest"
)

// leaks is the report of the plugin testdata/hostile/secret.wat: how often the plugin
// found the secret, by location.
type leaks struct {
	Memory, Globals, Offsets, Blocks, Variable, ErrorText, Reply, Pages uint64
}

// noLeaks is the report of a search that finds no secret.
func noLeaks(pages uint64) leaks { return leaks{Pages: pages} }

// TestSecret lets one step hide a secret wherever a plugin can, and a later
// step search for it: in the reset instance, and in the instance that replaces a
// discarded one.
func TestSecret(t *testing.T) {
	t.Parallel()
	// The input carries the secret with inverted bits, so that the search ignores it.
	secret := []byte("\xe1\xf2\xe3\xf4\xe5\xf6\xe7\xf8")
	inverted := make([]byte, len(secret))
	for i := range secret {
		inverted[i] = ^secret[i]
	}
	for _, c := range []struct {
		name   string
		hide   string
		kind   engine.Kind // the error of the hiding step; empty: it succeeds
		pooled bool        // the instance is reused for the next step
	}{
		{"hidden", "^", "", true},
		{"hidden in memory that grew", "^G", "", true},
		{"hidden by a step that crashes", "^T", engine.Trap, false},
		{"hidden in memory that grew by a step that crashes", "^TG", engine.Trap, false},
		{"hidden by a step that never ends", "^L", engine.Fuel, false},
		{"hidden by a step that gives an error text", "^E", engine.Failed, false},
		{"hidden by a step that fails", "^F", engine.Failed, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachTransport(t, func(t *testing.T, kernelCalls bool) {
				p, err := newEngine(t, &engine.Options{
					Limits:          engine.Limits{Fuel: 100_000_000, StepTimeout: time.Minute, MemoryMiB: 8, GrowthMiB: 4, IdleInstances: 1},
					KernelCallsOnly: kernelCalls, Logger: slog.New(slog.DiscardHandler),
				}).Load(t.Context(), hostiletest.Wasm(t, hostile, "secret"))
				if err != nil {
					t.Fatal(err)
				}
				for round := range 2 {
					calls := 0
					_, err := p.Run(t.Context(), abi.ExportCall, append(inverted[:8:8], c.hide...), hostFunc(func(context.Context, string, []byte) []byte {
						calls++
						return bytes.Repeat(secret, 10)
					}))
					if calls != 1 || c.kind == "" && err != nil || c.kind != "" && !errors.Is(err, c.kind) {
						t.Fatalf("hiding made %d host calls and ended with %v, want %q", calls, err, c.kind)
					}
					for _, search := range []struct {
						letters string
						pages   uint64
					}{{"^H", 6}, {"^HG", 24}} {
						out, err := p.Run(t.Context(), abi.ExportResume, append(inverted[:8:8], search.letters...), hostFunc(func(context.Context, string, []byte) []byte { return nil }))
						if err != nil {
							t.Fatal(err)
						}
						var got leaks
						if err := binary.Read(bytes.NewReader(out), binary.LittleEndian, &got); err != nil {
							t.Fatalf("the report is %q: %v", out, err)
						}
						if got != noLeaks(search.pages) {
							t.Errorf("round %d: %s found %+v", round, search.letters, got)
						}
					}
				}
				if s, want := p.Stats(), uint64(1+4+map[bool]int{true: 2}[c.pooled]); s.Reset != want || (s.Failed == 0) != c.pooled || s.Grown+s.Volatile+s.Surplus != 0 {
					t.Errorf("%d resets, want %d: %+v", s.Reset, want, s)
				}
			})
		})
	}
}

// TestSecretDetection checks that the search finds a secret in the same step; otherwise
// TestSecret would prove nothing.
func TestSecretDetection(t *testing.T) {
	t.Parallel()
	inverted := []byte("\x1e\x0d\x1c\x0b\x1a\x09\x18\x07")
	eachTransport(t, func(t *testing.T, kernelCalls bool) {
		p, err := newEngine(t, &engine.Options{KernelCallsOnly: kernelCalls}).Load(t.Context(), hostiletest.Wasm(t, hostile, "secret"))
		if err != nil {
			t.Fatal(err)
		}
		var got leaks
		out, err := p.Run(t.Context(), abi.ExportCall, append(inverted, "^B"...), hostFunc(func(context.Context, string, []byte) []byte { return []byte("reply") }))
		if err != nil || binary.Read(bytes.NewReader(out), binary.LittleEndian, &got) != nil {
			t.Fatalf("%q, %v", out, err)
		}
		if got.Memory == 0 || got.Globals != 6 || got.Offsets == 0 || got.Blocks != 0 || got.Variable == 0 || got.ErrorText != 0 || (got.Reply == 0) == !kernelCalls {
			t.Errorf("the search in the same step found %+v", got)
		}
	})
}
