package local_test

import (
	"context"
	"errors"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/store"
)

var (
	pluginRow  = &host.Plugin{Digest: "two", Name: "p", Version: "2", Status: host.PluginActive, Tools: []string{"t"}, Resumes: [2]int{1, 2}, Flows: 3}
	pluginsRow = &host.Plugins{Versions: []*host.Plugin{pluginRow}, History: []*store.Activation{{Seq: 1, Digest: "two", At: 5, Origin: "/x"}}}
	swapRow    = &host.Swapped{Before: "one", Active: pluginRow, Pinned: 4}
)

func (k *kept) Plugins(context.Context) (*host.Plugins, error) { return pluginsRow, nil }

// Swap refuses what nobody forces.
func (k *kept) Swap(_ context.Context, c *host.Candidate) (*host.Swapped, error) {
	k.swapped = *c
	if !c.Force {
		return nil, abi.NewError(abi.Conflict, "not by force")
	}
	return swapRow, nil
}

// AwaitPlugin waits for another one than "two".
func (k *kept) AwaitPlugin(ctx context.Context, digest string) (*host.Plugin, error) {
	if digest == pluginRow.Digest {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return pluginRow, nil
}

func TestPlugins(t *testing.T) {
	k := &kept{}
	_, _, c := serveKept(t, k)
	all, err := c.Plugins(t.Context())
	same(t, pluginsRow, all, err)

	m := host.Candidate{Wasm: []byte("\x00asm &?"), Digest: "d&x=1", Origin: "/a b/ä.wasm", Signature: []byte("+/\xff"), Force: true}
	swapped, err := c.Swap(t.Context(), &m)
	same(t, swapRow, swapped, err)
	same(t, m, k.swapped, nil)
	back := host.Candidate{Wasm: []byte{}, Digest: "one"}
	if _, err := c.Swap(t.Context(), &back); !errors.Is(err, abi.Conflict) {
		t.Errorf("a swap that is refused: %v", err)
	}
	same(t, back, k.swapped, nil)

	active, err := c.AwaitPlugin(t.Context(), "one?")
	same(t, pluginRow, active, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := c.AwaitPlugin(ctx, pluginRow.Digest)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that is given up: %v", err)
	}
}
