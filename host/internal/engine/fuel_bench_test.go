package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
	"github.com/parley-wasm/parley/host/internal/engine/extismenv"
	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// workload is a call to measure.
type workload struct {
	name     string
	wasm     []byte
	exchange *recordingtest.Exchange
}

// recordedReplies returns the recorded replies without checking the requests.
type recordedReplies struct {
	calls []recordingtest.HostCall
	next  int
}

func (a *recordedReplies) Call(context.Context, string, []byte) ([]byte, error) {
	reply := a.calls[a.next].Reply
	a.next++
	return reply, nil
}

func workloads(b *testing.B) []workload {
	b.Helper()
	all := []workload{
		{"loop of 100,000", wasmtest.Plugin(wasmtest.Code(wasmtest.Repeat(1, 100_000), wasmtest.I32(0))).Encode(), &recordingtest.Exchange{Export: "call"}},
	}
	for _, id := range []string{"S2.3/fifty-rows", "S3.1/fifty-messages", "S5.2/five-children"} {
		t, err := recordingtest.Find("../../../testdata/recordings", id)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, workload{id, wasm.Parley, &t.Exchanges[len(t.Exchanges)-1]})
	}
	return all
}

// BenchmarkFuel compares calls without a bound on their computation, with fuel, and
// with the runtime's own cancellation. Their runs are interleaved, so that disturbances
// affect all of them.
func BenchmarkFuel(b *testing.B) {
	names := [...]string{"none", "fuel", "cancellation"}
	for _, w := range workloads(b) {
		b.Run(w.name, func(b *testing.B) {
			var calls [len(names)]func()
			var times [len(names)][]time.Duration
			for i, name := range names {
				calls[i] = prepare(b, w, name)
			}
			for b.Loop() {
				// The order is random, because a run may have to collect the garbage of
				// a preceding cancellation run.
				for _, i := range rand.Perm(len(calls)) {
					begin := time.Now()
					calls[i]()
					times[i] = append(times[i], time.Since(begin))
				}
			}
			for i := range times {
				slices.Sort(times[i])
				median := times[i][len(times[i])/2]
				b.ReportMetric(float64(median)/float64(time.Microsecond), "µs-"+names[i])
				if i > 0 {
					b.ReportMetric(float64(median)/float64(times[0][len(times[0])/2]), "x-none-"+names[i])
				}
			}
			b.ReportMetric(0, "ns/op") // the sum of the three is meaningless
		})
	}
}

// prepare instantiates the module, bounded by none, fuel or cancellation, and returns a
// function that calls its export once.
func prepare(b *testing.B, w workload, bound string) (call func()) {
	b.Helper()
	rt := wazero.NewRuntimeWithConfig(b.Context(), wazero.NewRuntimeConfig().WithCloseOnContextDone(bound == "cancellation"))
	b.Cleanup(func() { _ = rt.Close(context.Background()) })
	if err := extismenv.Instantiate(b.Context(), rt); err != nil {
		b.Fatal(err)
	}
	m, err := wasmedit.Parse(w.wasm)
	if err != nil {
		b.Fatal(err)
	}
	if bound == "fuel" {
		if _, err := m.Instrument(); err != nil {
			b.Fatal(err)
		}
	}
	options := extismenv.Options{MaxIn: 32 << 20, MaxOut: 8 << 20, MaxHostCalls: 1000, MaxLogLines: 10, Logger: slog.New(slog.DiscardHandler)}
	// The runtime watches a cancelable context in a goroutine that may read it after the
	// call. So each call gets a new environment, and End is never called.
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	b.Cleanup(cancel)
	deadline := time.Now().Add(2 * time.Hour)
	begin := func(c extismenv.Call) context.Context {
		c.Deadline = deadline
		inner, err := extismenv.New(options, nil).Begin(ctx, c)
		if err != nil {
			b.Fatal(err)
		}
		return inner
	}
	module, err := rt.InstantiateWithConfig(begin(extismenv.Call{}), m.Encode(), wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		b.Fatal(err)
	}
	refuel := func() {}
	if bound == "fuel" {
		fuel := module.ExportedGlobal(wasmedit.ExportFuel).(api.MutableGlobal)
		reserve := module.ExportedGlobal(wasmedit.ExportReserve).(api.MutableGlobal)
		refuel = func() { fuel.Set(wasmedit.Quantum); reserve.Set(1 << 50) }
		refuel()
		if start := module.ExportedFunction(wasmedit.ExportStart); start != nil {
			if _, err := start.Call(begin(extismenv.Call{})); err != nil {
				b.Fatal(err)
			}
		}
	}
	f := module.ExportedFunction(w.exchange.Export)
	var stack [1]uint64
	return func() {
		inner := begin(extismenv.Call{Input: w.exchange.Input, Host: &recordedReplies{calls: w.exchange.Calls}})
		refuel()
		if err := f.CallWithStack(inner, stack[:]); err != nil {
			b.Fatal(err)
		}
	}
}
