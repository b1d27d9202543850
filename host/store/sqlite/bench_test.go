package sqlite

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/storegen"
)

// BenchmarkSize runs the queries of TestCost on stores of 100 and of 10,000 sessions,
// alternately in one run. It reports both medians and their ratio.
func BenchmarkSize(b *testing.B) {
	small := generated(b, storegen.Options{Sessions: 100, LongMessages: 800, Now: now})
	big := generated(b, storegen.Options{Sessions: 10_000, LongMessages: 200_000, Now: now})
	for _, q := range queries {
		b.Run(q.name, func(b *testing.B) {
			var took [2][]time.Duration
			for range b.N {
				for i, db := range []*DB{small, big} {
					took[i] = append(took[i], timeOf(b, db, q))
				}
			}
			report(b, took)
		})
	}
}

// BenchmarkTranscript reads the newest 50 messages of a transcript of 100 MB and of a
// small one, with and without tool results, and compares the times.
func BenchmarkTranscript(b *testing.B) {
	db := generated(b, storegen.Options{Sessions: 100, Messages: 200, LargeBytes: 100 << 20, Now: now})
	for _, exclude := range [][]string{nil, noTools} {
		b.Run(fmt.Sprintf("without=%q", exclude), func(b *testing.B) {
			var took [2][]time.Duration
			for range b.N {
				for i, key := range []string{storegen.MainKey, storegen.LargeKey} {
					q := historyQuery("", 0, abi.HistoryRequest{SessionKey: key, Limit: 50, ExcludeRoles: exclude})
					took[i] = append(took[i], timeOf(b, db, q))
				}
			}
			report(b, took)
		})
	}
}

func timeOf(b *testing.B, db *DB, q query) time.Duration {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // a cancelable context, as in requests
	defer cancel()
	start := time.Now()
	v, err := db.Snapshot(ctx)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := q.run(ctx, v); err != nil {
		b.Fatal(err)
	}
	if err := v.Close(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func report(b *testing.B, took [2][]time.Duration) {
	b.Helper()
	var median [2]float64
	for i := range took {
		slices.Sort(took[i])
		median[i] = float64(took[i][len(took[i])/2].Nanoseconds()) / 1000
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median[0], "µs/small")
	b.ReportMetric(median[1], "µs/big")
	b.ReportMetric(median[1]/median[0], "ratio")
}
