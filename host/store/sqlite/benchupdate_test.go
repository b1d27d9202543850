package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// BenchmarkUpdate compares updates that share commits with updates that each have their
// own commit. Each update writes the rows of a send, and 64 run at once. Both kinds
// alternate in one run. The benchmark reports the updates per second of each kind and
// their ratio.
func BenchmarkUpdate(b *testing.B) {
	const atOnce, round = 64, 256
	var dbs [2]*DB
	var took [2]time.Duration
	for i, most := range []int{1, maxGroup} {
		db, err := Open(context.Background(), filepath.Join(b.TempDir(), "parley.db"), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = db.Close() })
		db.writer.maxGroup = most
		dbs[i] = db
		sends(b, db, "first", atOnce, atOnce) // compiles the statements
	}
	for n := range b.N {
		for i, db := range dbs {
			took[i] += sends(b, db, fmt.Sprint(n), atOnce, round)
		}
	}
	single, grouped := float64(b.N*round)/took[0].Seconds(), float64(b.N*round)/took[1].Seconds()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(single, "single/s")
	b.ReportMetric(grouped, "grouped/s")
	b.ReportMetric(grouped/single, "ratio")
}

// sends runs round updates, atOnce of them concurrently. Each stores a queued run and
// a flow that waits for it.
func sends(b *testing.B, db *DB, name string, atOnce, round int) time.Duration {
	b.Helper()
	start := time.Now()
	var next atomic.Int64
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			for i := next.Add(1); i <= int64(round); i = next.Add(1) {
				id := fmt.Sprint(name, "/", i)
				err := db.Update(context.Background(), func(tx store.Tx) error {
					if err := tx.PutFlow(&store.Flow{ID: id, Call: store.CallKey{Scope: "operator", ID: id}, Status: store.FlowWaiting, WaitRun: id}); err != nil {
						return err
					}
					if err := tx.PutRun(&store.Run{ID: id, SessionKey: id, FlowID: id, Status: abi.RunQueued, Message: "a message"}); err != nil {
						return err
					}
					return tx.Schedule(store.KindRun, id, i)
				})
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	return time.Since(start)
}
