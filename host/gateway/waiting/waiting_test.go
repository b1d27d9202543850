package waiting

import (
	"context"
	"testing"
)

func TestCloseEndsWaitsAlone(t *testing.T) {
	g := NewGroup()
	working, a := g.Track(t.Context(), nil)
	defer a.Done()
	began := 0
	waits, b := g.Track(t.Context(), func() { began++ })
	defer b.Done()
	over, c := g.Track(t.Context(), nil)
	defer c.Done()
	b.Suspend()
	b.Suspend()
	c.Suspend()
	c.Resume()

	g.Close()
	<-waits.Done()
	if !CutOff(waits) || began != 1 {
		t.Errorf("the wait ended with %v, and began %d times", context.Cause(waits), began)
	}
	for name, ctx := range map[string]context.Context{"working": working, "no longer waiting": over} {
		if ctx.Err() != nil {
			t.Errorf("%s: %v", name, context.Cause(ctx))
		}
	}
	a.Suspend()
	<-working.Done()
	if !CutOff(working) {
		t.Errorf("a wait that begins after the end: %v", context.Cause(working))
	}
}

func TestCallerGoes(t *testing.T) {
	g := NewGroup()
	defer g.Close()
	ctx, cancel := context.WithCancel(t.Context())
	waits, c := g.Track(ctx, nil)
	defer c.Done()
	c.Suspend()
	cancel()
	<-waits.Done()
	if CutOff(waits) {
		t.Error("the end of the caller counts as the gateway's")
	}
}

func TestDone(t *testing.T) {
	g := NewGroup()
	waits, c := g.Track(t.Context(), nil)
	c.Suspend()
	c.Done()
	g.Close()
	if waits.Err() == nil || CutOff(waits) {
		t.Errorf("after Done: %v", context.Cause(waits))
	}
}
