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
	return request[host.Plugins](ctx, c, http.MethodGet, pluginsPath, nil)
}

// Swap makes a module the owner's active version of the plugin.
func (c *Client) Swap(ctx context.Context, m *host.PluginFile) (*host.SwapResult, error) {
	path := pluginsPath + SwapQuery(m.Digest, m.Signature, m.Force, m.Origin)
	s, err := request[host.SwapResult](ctx, c, http.MethodPost, path, append([]byte{}, m.Wasm...))
	if err != nil {
		return nil, err
	}
	return s, c.refresh(ctx)
}

// AwaitPlugin waits until the owner's active version of the plugin has another digest,
// and returns that version. Afterwards Tools returns its tools.
func (c *Client) AwaitPlugin(ctx context.Context, digest string) (*host.Plugin, error) {
	p, err := request[host.Plugin](ctx, c, http.MethodGet, pluginsPath+"/next"+SwapQuery(digest, nil, false, ""), nil)
	if err != nil {
		return nil, err
	}
	return p, c.refresh(ctx)
}

const pluginsPath = "/v1/plugins"

// Flows lists the owner's flows, newest first.
func (c *Client) Flows(ctx context.Context, f *store.Filter) ([]*store.Flow, error) {
	return list[store.Flow](ctx, c, "flows", f)
}

// Runs lists the owner's runs, newest first.
func (c *Client) Runs(ctx context.Context, f *store.Filter) ([]*store.Run, error) {
	return list[store.Run](ctx, c, "runs", f)
}

// Deliveries lists the owner's deliveries, newest first.
func (c *Client) Deliveries(ctx context.Context, f *store.Filter) ([]*store.Delivery, error) {
	return list[store.Delivery](ctx, c, "deliveries", f)
}

// Tree returns sessions of the owner's store with the sessions they have spawned.
func (c *Client) Tree(ctx context.Context, q *host.TreeQuery) (*host.Tree, error) {
	return request[host.Tree](ctx, c, http.MethodGet, "/v1/tree"+TreeQuery(q.Key, q.Limit), nil)
}

// Flow returns a flow, or abi.NotFound.
func (c *Client) Flow(ctx context.Context, id string) (*store.Flow, error) {
	return request[store.Flow](ctx, c, http.MethodGet, flowPath(id), nil)
}

// WaitFlow waits until a flow has ended, is idle or is parked, and its deliveries have
// ended.
func (c *Client) WaitFlow(ctx context.Context, id string) (*store.Flow, error) {
	return request[store.Flow](ctx, c, http.MethodGet, flowPath(id)+"/end", nil)
}

// Run returns a run, or abi.NotFound.
func (c *Client) Run(ctx context.Context, id string) (*store.Run, error) {
	return request[store.Run](ctx, c, http.MethodGet, runPath(id), nil)
}

// AbortRun aborts a run and returns it in its final state, or fails with abi.Conflict if
// the run has already ended.
func (c *Client) AbortRun(ctx context.Context, id, why string) (*store.Run, error) {
	body := jsonappend.Open(nil)
	body.String("runId", id)
	body.OptString("reason", why)
	if _, err := c.ask(ctx, http.MethodPost, "/v1/agent/abort", body.Close()); err != nil {
		return nil, err
	}
	return c.Run(ctx, id)
}

// RetryFlow resumes a parked flow.
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

// emptyBody is the body of a request whose path contains all parameters.
var emptyBody = []byte("{}")

func (c *Client) change(ctx context.Context, path string) error {
	_, err := c.ask(ctx, http.MethodPost, path, emptyBody)
	return err
}

// list requests the rows at /v1/name. name is also the answer's member that contains them.
func list[T any](ctx context.Context, c *Client, name string, f *store.Filter) ([]*T, error) {
	doc, err := request[map[string][]*T](ctx, c, http.MethodGet, "/v1/"+name+Query(f), nil)
	if err != nil {
		return nil, err
	}
	return (*doc)[name], nil
}

// request sends a request and reads the answer as a T.
func request[T any](ctx context.Context, c *Client, method, path string, body []byte) (*T, error) {
	doc, err := c.ask(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	answer := new(T)
	if err := json.Unmarshal([]byte(doc.Raw), answer); err != nil {
		return nil, fmt.Errorf("local: %s: unexpected answer from the owner: %w", path, err)
	}
	return answer, nil
}
