package work

import (
	"context"
	"sync"
)

// Drain waits for what is running. When ctx ends first, it cuts that short, goes
// on waiting, and returns ctx's error. cut is called in any case in the end, and
// may be called twice.
func Drain(ctx context.Context, running *sync.WaitGroup, cut func()) error {
	defer cut()
	idle := make(chan struct{})
	go func() {
		running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		cut()
		<-idle
		return ctx.Err()
	}
}
