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

// Client sends tool calls and requests for flows, runs and deliveries to the process that
// owns a database, over its socket. It returns the same answers as a *host.Host in this
// process. It is safe for concurrent use; the caller of NewClient must call Close.
//
// After the owner has ended, calls fail with an *Error of kind ErrFree, and the caller can
// join the database again. If the owner stops answering, calls fail with ErrHung.
type Client struct {
	peer   *Peer
	served atomic.Pointer[served]
}

// served is the owner's last known status and tools.
type served struct {
	status Status
	tools  []abi.Tool
}

// NewClient returns a Client with the owner's current status and tools. Client.Close closes
// the peer; if NewClient fails, its caller must close the peer.
func NewClient(ctx context.Context, peer *Peer) (*Client, error) {
	c := &Client{peer: peer}
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Status returns the owner's status as of NewClient, or of the last swap that the Client
// made or observed.
func (c *Client) Status() *Status { return &c.served.Load().status }

// Keys returns the owner's settings for session keys.
func (c *Client) Keys() sessionkey.Settings { return c.Status().Keys }

// Tools returns the owner's tools, as of the same time as Status. The caller must not
// change the slice.
func (c *Client) Tools() []abi.Tool { return c.served.Load().tools }

// Close closes the idle connections.
func (c *Client) Close(context.Context) error {
	c.peer.Close()
	return nil
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.do(ctx, http.MethodGet, path, nil, func(r *http.Response) error {
		return json.NewDecoder(r.Body).Decode(into)
	})
}

// do sends a request and passes the answer to read. Meanwhile it checks regularly that the
// owner still answers pings.
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
	// An ending owner closes idle connections. This header lets the transport retry a
	// request that fails for this reason; without values it is not sent. Every request
	// can be repeated, a call because of its id.
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

// explain returns the reason why a request failed.
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
