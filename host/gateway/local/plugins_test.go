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
	swapRow    = &host.SwapResult{Before: "one", Active: pluginRow, Pinned: 4}
)

func (k *fakeOwner) Plugins(context.Context) (*host.Plugins, error) { return pluginsRow, nil }

// Swap refuses a swap without Force.
func (k *fakeOwner) Swap(_ context.Context, c *host.PluginFile) (*host.SwapResult, error) {
	k.swapped = *c
	if !c.Force {
		return nil, abi.NewError(abi.Conflict, "force is required")
	}
	return swapRow, nil
}

// AwaitPlugin returns pluginRow, or blocks if digest is pluginRow's.
func (k *fakeOwner) AwaitPlugin(ctx context.Context, digest string) (*host.Plugin, error) {
	if digest == pluginRow.Digest {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return pluginRow, nil
}

func TestPlugins(t *testing.T) {
	k := &fakeOwner{}
	_, _, c := serveFake(t, k)
	all, err := c.Plugins(t.Context())
	same(t, pluginsRow, all, err)

	m := host.PluginFile{Wasm: []byte("\x00asm &?"), Digest: "d&x=1", Origin: "/a b/ä.wasm", Signature: []byte("+/\xff"), Force: true}
	swapped, err := c.Swap(t.Context(), &m)
	same(t, swapRow, swapped, err)
	same(t, m, k.swapped, nil)
	back := host.PluginFile{Wasm: []byte{}, Digest: "one"}
	if _, err := c.Swap(t.Context(), &back); !errors.Is(err, abi.Conflict) {
		t.Errorf("a refused swap: %v", err)
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
		t.Errorf("a cancelled wait: %v", err)
	}
}
