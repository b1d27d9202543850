package engine

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/engine/wasmtest"
)

type reply []byte

func (r reply) Call(context.Context, string, []byte) []byte { return r }

// BenchmarkStep measures steps with a deadline, as they run, beside steps without
// one, and prints the ratio of each pair.
func BenchmarkStep(b *testing.B) {
	read := wasmtest.Code( // asks the store and reads 8 KiB of the reply
		wasmtest.Block("12345678"), wasmtest.Get(0), wasmtest.Call(wasmtest.StoreHost), wasmtest.Set(0),
		wasmtest.Repeat(1, 1024, wasmtest.Get(0), wasmtest.Call(wasmtest.LoadU64Env), wasmtest.Drop), wasmtest.I32(0))
	for _, c := range []struct {
		name string
		call []byte
	}{
		{"no-op", wasmtest.I32(0)},
		{"reply of 8 KiB", read},
		{"loop of 100,000", wasmtest.Code(wasmtest.Repeat(1, 100_000), wasmtest.I32(0))},
	} {
		wasm := wasmtest.Plugin(c.call).Encode()
		var plain time.Duration
		for _, deadline := range []bool{false, true} {
			name := fmt.Sprintf("%s/deadline=%v", c.name, deadline)
			b.Run(name, func(b *testing.B) {
				ctx := context.Background()
				e, err := New(ctx, &Options{uninterruptible: !deadline, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					b.Fatal(err)
				}
				defer e.Close(ctx)
				p, err := e.Load(ctx, wasm)
				if err != nil {
					b.Fatal(err)
				}
				h := reply(make([]byte, 8<<10))
				input := make([]byte, 512)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Run(ctx, abi.ExportCall, input, h); err != nil {
						b.Fatal(err)
					}
				}
				each := b.Elapsed() / time.Duration(b.N)
				if !deadline {
					plain = each
				} else if plain > 0 {
					b.ReportMetric(float64(each)/float64(plain), "x-without")
				}
			})
		}
	}
}
