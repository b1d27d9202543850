package work

import (
	"context"
	"sync"
)

// Drain waits for the goroutines of running. If ctx ends first, Drain calls interrupt,
// keeps waiting, and returns ctx's error. Drain always calls interrupt before it
// returns, and may call it twice.
func Drain(ctx context.Context, running *sync.WaitGroup, interrupt func()) error {
	defer interrupt()
	idle := make(chan struct{})
	go func() {
		running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		interrupt()
		<-idle
		return ctx.Err()
	}
}
