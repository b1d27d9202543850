package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/store"
)

// lives lets one gateway live after the other, until all has ended that follows
// from the call. Where nothing is left to do but at a time to come, the next one
// lives then.
func lives(ctx context.Context, db *countedStore, p *place, call *host.Call) error {
	for ahead := time.Duration(0); ; {
		f, err := live(ctx, db, p, call, func() time.Time { return time.Now().Add(ahead) })
		if err != nil || f == nil || !f.Resting() {
			return err
		}
		ahead = time.Until(time.UnixMilli(f.WaitUntil)) + time.Second
	}
}

// live lets a gateway live until nothing is left for it to do, and returns the
// flow; or none, when it was told to end, or was cut off.
func live(ctx context.Context, db *countedStore, p *place, call *host.Call, now func() time.Time) (*store.Flow, error) {
	h, err := p.host(ctx, db, now)
	if err != nil {
		return nil, err
	}
	tokens := make(chan error, 1)
	if db.points.asleep {
		awake := make(chan os.Signal, 1)
		signal.Notify(awake, syscall.SIGCONT)
		defer signal.Stop(awake)
		go func() {
			<-awake
			tokens <- refused(h, p)
		}()
	}
	f, err := follow(ctx, h, p, call, db.points)
	select {
	case late := <-tokens:
		err = errors.Join(err, late)
	default:
	}
	closing, end := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer end()
	return f, errors.Join(err, h.Close(closing))
}

// follow returns the flow when all has ended that follows from the call for now, and
// fails when a token is still accepted then. A process that is told to end
// meanwhile, or was cut off in a step by its sleep, has lost all that it held: no
// token of its own may be left either.
func follow(ctx context.Context, h *host.Host, p *place, call *host.Call, pts *points) (f *store.Flow, err error) {
	err = h.Start(ctx)
	var answer *host.Answer
	if err == nil {
		answer, err = h.Call(ctx, call)
	}
	if err == nil {
		f, err = settled(ctx, h, answer)
	}
	if err == nil {
		return f, refused(h, p)
	}
	if ctx.Err() == nil && !pts.sleeps.Load() {
		return nil, err
	}
	// What it executed is ended by others, which it hears of soon.
	for try := 0; ; try++ {
		if err = refused(h, p); err == nil || try == 100 {
			return nil, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// settled returns the flow when neither it nor a delivery of it has anything left
// to do, or it has only to wait for a time.
func settled(ctx context.Context, h *host.Host, answer *host.Answer) (*store.Flow, error) {
	if answer.FlowID == "" {
		return nil, fmt.Errorf("the call was refused: %s", answer.Result)
	}
	return h.WaitFlow(ctx, answer.FlowID)
}

// refused fails when a token of an attempt that has ended is still accepted.
func refused(h *host.Host, p *place) error {
	files, err := filepath.Glob(filepath.Join(p.left(), "*.token"))
	for _, file := range files {
		token, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, ok := h.Identify(strings.TrimSpace(string(token))); ok {
			return fmt.Errorf("the token in %s is still accepted", file)
		}
	}
	return err
}
