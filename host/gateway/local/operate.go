package local

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/store"
)

// Plugins lists the owner's versions of the plugin.
func (c *Client) Plugins(ctx context.Context) (*host.Plugins, error) {
	p := new(host.Plugins)
	return p, c.decode(ctx, pluginsPath, p)
}

// Swap makes a module the owner's active version of the plugin.
func (c *Client) Swap(ctx context.Context, m *host.Candidate) (*host.Swapped, error) {
	doc, err := c.ask(ctx, http.MethodPost, pluginsPath+SwapQuery(m.Digest, m.Signature, m.Force, m.Origin), append([]byte{}, m.Wasm...))
	if err != nil {
		return nil, err
	}
	s := new(host.Swapped)
	if err := unmarshal(pluginsPath, doc.Raw, s); err != nil {
		return nil, err
	}
	return s, c.refresh(ctx)
}

// AwaitPlugin returns the owner's active version of the plugin when it is not the
// one with this digest. Tools are its tools then.
func (c *Client) AwaitPlugin(ctx context.Context, digest string) (*host.Plugin, error) {
	p := new(host.Plugin)
	if err := c.decode(ctx, pluginsPath+"/next"+SwapQuery(digest, nil, false, ""), p); err != nil {
		return nil, err
	}
	return p, c.refresh(ctx)
}

const pluginsPath = "/v1/plugins"

// Flows lists the owner's flows, newest first.
func (c *Client) Flows(ctx context.Context, f *store.Filter) ([]*store.Flow, error) {
	var doc struct{ Flows []*store.Flow }
	err := c.decode(ctx, "/v1/flows"+Query(f), &doc)
	return doc.Flows, err
}

// Runs lists the owner's runs, newest first.
func (c *Client) Runs(ctx context.Context, f *store.Filter) ([]*store.Run, error) {
	var doc struct{ Runs []*store.Run }
	err := c.decode(ctx, "/v1/runs"+Query(f), &doc)
	return doc.Runs, err
}

// Deliveries lists the owner's deliveries, newest first.
func (c *Client) Deliveries(ctx context.Context, f *store.Filter) ([]*store.Delivery, error) {
	var doc struct{ Deliveries []*store.Delivery }
	err := c.decode(ctx, "/v1/deliveries"+Query(f), &doc)
	return doc.Deliveries, err
}

// Tree returns sessions of the owner's store with what they have spawned.
func (c *Client) Tree(ctx context.Context, q *host.TreeQuery) (*host.Tree, error) {
	t := new(host.Tree)
	if err := c.decode(ctx, "/v1/tree"+TreeQuery(q.Key, q.Limit), t); err != nil {
		return nil, err
	}
	return t, nil
}

// Flow returns a flow, or abi.NotFound.
func (c *Client) Flow(ctx context.Context, id string) (*store.Flow, error) {
	return c.flow(ctx, flowPath(id))
}

// WaitFlow returns the flow when it has ended or rests, and its deliveries have
// ended, or it is parked.
func (c *Client) WaitFlow(ctx context.Context, id string) (*store.Flow, error) {
	return c.flow(ctx, flowPath(id)+"/end")
}

// Run returns a run, or abi.NotFound.
func (c *Client) Run(ctx context.Context, id string) (*store.Run, error) {
	r := new(store.Run)
	if err := c.decode(ctx, runPath(id), r); err != nil {
		return nil, err
	}
	return r, nil
}

// KillRun ends a run and returns it as it has ended; one that had before is
// abi.Conflict.
func (c *Client) KillRun(ctx context.Context, id, why string) (*store.Run, error) {
	body := jsonappend.Open(nil)
	body.String("runId", id)
	body.OptString("reason", why)
	if _, err := c.ask(ctx, http.MethodPost, "/v1/agent/abort", body.Close()); err != nil {
		return nil, err
	}
	return c.Run(ctx, id)
}

// RetryFlow lets a parked flow go on.
func (c *Client) RetryFlow(ctx context.Context, id string) error {
	return c.change(ctx, flowPath(id)+"/retry")
}

// DropFlow ends a flow.
func (c *Client) DropFlow(ctx context.Context, id string) error {
	return c.change(ctx, flowPath(id)+"/drop")
}

// ResendDelivery tries a failed delivery again.
func (c *Client) ResendDelivery(ctx context.Context, id string) error {
	return c.change(ctx, "/v1/deliveries/"+url.PathEscape(id)+"/resend")
}

func runPath(id string) string { return "/v1/runs/" + url.PathEscape(id) }

func flowPath(id string) string { return "/v1/flows/" + url.PathEscape(id) }

func (c *Client) flow(ctx context.Context, path string) (*store.Flow, error) {
	f := new(store.Flow)
	if err := c.decode(ctx, path, f); err != nil {
		return nil, err
	}
	return f, nil
}

func (c *Client) change(ctx context.Context, path string) error {
	_, err := c.ask(ctx, http.MethodPost, path, []byte("{}"))
	return err
}

func (c *Client) decode(ctx context.Context, path string, into any) error {
	doc, err := c.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return unmarshal(path, doc.Raw, into)
}

func unmarshal(path, doc string, into any) error {
	if err := json.Unmarshal([]byte(doc), into); err != nil {
		return fmt.Errorf("local: %s: the owner's answer is not as expected: %w", path, err)
	}
	return nil
}
