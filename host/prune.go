package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/parley-wasm/parley/host/store"
)

const (
	retention     = 7 * 24 * time.Hour // how long ended flows, runs and deliveries are kept
	pruneInterval = time.Hour
	pruneBatch    = 500 // rows of each kind that one commit removes
)

// pruner removes work that ended long ago, in small batches, and plugin versions that
// no flow needs.
type pruner struct {
	store store.Durable
	tidy  func(context.Context) error // removes unneeded plugin versions
	now   func() time.Time
	log   *slog.Logger
	stop  context.CancelFunc
	done  chan struct{}
}

func startPruner(db store.Durable, tidy func(context.Context) error, now func() time.Time, log *slog.Logger) *pruner {
	p := &pruner{store: db, tidy: tidy, now: now, log: log, done: make(chan struct{})}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	go p.run(ctx)
	return p
}

// close stops the pruner and waits for its last write. A nil pruner was never started.
func (p *pruner) close() {
	if p != nil {
		p.stop()
		<-p.done
	}
}

func (p *pruner) run(ctx context.Context) {
	defer close(p.done)
	tick := time.NewTicker(pruneInterval)
	defer tick.Stop()
	for {
		if err := p.prune(ctx); err != nil && ctx.Err() == nil {
			p.log.Warn("host: cannot remove old flows, runs and deliveries", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p *pruner) prune(ctx context.Context) error {
	for more := true; more; {
		err := p.store.Update(ctx, func(tx store.Tx) (err error) {
			more, err = tx.Prune(p.now().Add(-retention).UnixMilli(), pruneBatch)
			return err
		})
		if err != nil {
			return err
		}
	}
	return p.tidy(ctx)
}
