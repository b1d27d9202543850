package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Client reaches the tools of the process that owns a database, and the work that it
// keeps, over its socket. It answers as a *host.Host of this process would. It is safe
// for concurrent use; the caller of NewClient closes it.
//
// When the owner ends, calls fail with an *Error of kind ErrFree: the database can be
// joined again. When it stops answering, with ErrHung.
type Client struct {
	peer   *Peer
	served atomic.Pointer[served]
}

// served is what the owner said of itself.
type served struct {
	status Status
	tools  []abi.Tool
}

// NewClient asks the owner for its status and tools. The Client closes the peer.
func NewClient(ctx context.Context, peer *Peer) (*Client, error) {
	c := &Client{peer: peer}
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Status says under what the owner answered when the Client was made, or when it last
// heard of a swap.
func (c *Client) Status() *Status { return &c.served.Load().status }

// Keys returns the settings that keys depend on.
func (c *Client) Keys() sessionkey.Settings { return c.Status().Keys }

// Tools returns the owner's tools, as of the same time. The slice must not be changed.
func (c *Client) Tools() []abi.Tool { return c.served.Load().tools }

// Close ends the connections.
func (c *Client) Close(context.Context) error {
	c.peer.Close()
	return nil
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.do(ctx, http.MethodGet, path, nil, func(r *http.Response) error {
		return json.NewDecoder(r.Body).Decode(into)
	})
}

// do sends a request and lets read take the answer, while watching that the
// owner is alive.
func (c *Client) do(ctx context.Context, method, path string, body []byte, read func(*http.Response) error) error {
	watched, stop := c.peer.Watch(ctx)
	defer stop()
	req, err := http.NewRequestWithContext(watched, method, URL+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("local: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	// Every request may be sent again, calls because they have ids. Without values
	// the header says so to the transport alone, which else fails when an owner that
	// ends closes a connection that was idle.
	req.Header["X-Idempotency-Key"] = nil
	resp, err := c.peer.Transport.RoundTrip(req)
	if err == nil {
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusServiceUnavailable {
			return c.peer.Gone()
		}
		err = read(resp)
	}
	return c.explain(ctx, watched, err)
}

// explain finds out why a request failed.
func (c *Client) explain(ctx, watched context.Context, err error) error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(context.Cause(watched), &e):
		return e
	case ctx.Err() != nil:
		return ctx.Err()
	case Disconnected(err):
		return c.peer.Gone()
	}
	return err
}
