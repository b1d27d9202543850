package engine

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/parley-wasm/parley/abi/abitest"
	"github.com/parley-wasm/parley/host/engine/extismenv"
	"github.com/parley-wasm/parley/host/engine/wasmedit"
	"github.com/parley-wasm/parley/host/engine/wasmtest"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// work is a call to be measured.
type work struct {
	name     string
	wasm     []byte
	exchange *abitest.Exchange
}

type conversation struct{ *abitest.Replay }

func (c conversation) Call(_ context.Context, family string, request []byte) ([]byte, error) {
	return c.Replay.Call(family, request), nil
}

func works(b *testing.B) []work {
	b.Helper()
	all := []work{
		{"loop of 100,000", wasmtest.Plugin(wasmtest.Code(wasmtest.Repeat(1, 100_000), wasmtest.I32(0))).Encode(), &abitest.Exchange{Export: "call"}},
	}
	for _, id := range []string{"S2.1/limit-exact", "S3.4/cut-control", "S5.2/five-children"} {
		t, err := abitest.LoadTranscript("../../testdata/transcripts/" + id + ".json")
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, work{id, wasm.Parley, &t.Exchanges[len(t.Exchanges)-1]})
	}
	return all
}

// BenchmarkFuel compares the ways to bound what a call computes: not at all, by
// fuel, and by the runtime's own cancellation.
func BenchmarkFuel(b *testing.B) {
	ctx := context.Background()
	for _, w := range works(b) {
		var plain time.Duration
		for _, way := range []string{"none", "fuel", "cancellation"} {
			b.Run(w.name+"/"+way, func(b *testing.B) {
				rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(way == "cancellation"))
				defer rt.Close(ctx)
				if err := extismenv.Instantiate(ctx, rt); err != nil {
					b.Fatal(err)
				}
				m, err := wasmedit.Parse(w.wasm)
				if err != nil {
					b.Fatal(err)
				}
				// The plain module is rewritten too, but for the fuel: start and globals
				// must be there.
				if way == "fuel" {
					if _, err := m.Harden(); err != nil {
						b.Fatal(err)
					}
				}
				env := extismenv.New(extismenv.Options{MaxIn: 32 << 20, MaxOut: 8 << 20, MaxHostCalls: 1000, MaxLogLines: 10, Logger: slog.New(slog.DiscardHandler)}, nil)
				begin := func(c extismenv.Call) context.Context {
					c.Until = time.Now().Add(time.Hour)
					parent, cancel := context.WithTimeout(ctx, time.Hour)
					_ = cancel
					inner, err := env.Begin(parent, c)
					if err != nil {
						b.Fatal(err)
					}
					return inner
				}
				module, err := rt.InstantiateWithConfig(begin(extismenv.Call{}), m.Encode(), wazero.NewModuleConfig().WithStartFunctions())
				if err != nil {
					b.Fatal(err)
				}
				fuel := func() {}
				if way == "fuel" {
					g := module.ExportedGlobal(wasmedit.ExportFuel).(api.MutableGlobal)
					fuel = func() { g.Set(1 << 50) }
					fuel()
					if start := module.ExportedFunction(wasmedit.ExportStart); start != nil {
						if _, err := start.Call(begin(extismenv.Call{})); err != nil {
							b.Fatal(err)
						}
					}
					defer func() { b.ReportMetric(float64((1<<50)-int64(g.Get())), "units") }()
				}
				f := module.ExportedFunction(w.exchange.Export)
				var stack [1]uint64
				for b.Loop() {
					inner := begin(extismenv.Call{Input: w.exchange.Input, Host: conversation{w.exchange.Replay()}})
					fuel()
					if err := f.CallWithStack(inner, stack[:]); err != nil {
						b.Fatal(err)
					}
					env.End()
				}
				each := b.Elapsed() / time.Duration(b.N)
				if way == "none" {
					plain = each
				} else if plain > 0 {
					b.ReportMetric(float64(each)/float64(plain), "x-none")
				}
			})
		}
	}
}
