package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sys/unix"
)

// URL is the base URL of requests over a Peer's Transport. The host name is not resolved:
// the transport always connects to the socket.
const URL = "http://parley"

// Peer is a connection to the process that owns a database. It is safe for concurrent
// use; the caller of Dial or Join must call Close.
type Peer struct {
	Info      Info
	Transport http.RoundTripper // sends requests for any path below URL over the owner's socket

	timeout time.Duration
	idle    func()
}

// Ping checks that the owner still answers. It fails with an *Error of kind ErrFree,
// ErrHung or ErrMismatch.
func (p *Peer) Ping(ctx context.Context) error {
	_, err := p.identify(ctx)
	return err
}

// Watch returns a context for a long request. Watch cancels it, with the *Error as its
// cause, when the owner stops answering pings. The caller must call stop.
func (p *Peer) Watch(ctx context.Context) (watched context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(p.timeout)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := p.Ping(ctx); err != nil {
					cancel(err)
					return
				}
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// Gone returns the *Error of kind ErrFree for a request that was not answered because the
// owner ended.
func (p *Peer) Gone() error {
	return p.failure(ErrFree, "which has ended: try again")
}

// Close closes idle connections.
func (p *Peer) Close() { p.idle() }

func (p *Peer) identify(ctx context.Context) (Info, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.timeout, ErrHung)
	defer cancel()
	info, err := p.ask(ctx)
	switch {
	case err == nil && info.API == API:
		return info, nil
	case err == nil:
		return Info{}, p.failure(ErrMismatch, "whose version %q has API %d, but this program has API %d: stop that process, or use the same version", info.Version, info.API, API)
	case Disconnected(err):
		return Info{}, p.Gone()
	case errors.Is(context.Cause(ctx), ErrHung), errors.Is(err, unix.EAGAIN):
		return Info{}, p.failure(ErrHung, "which did not answer within %s: if it is stopped, resume it (kill -CONT %d) or kill it (kill -KILL %d), and try again",
			p.timeout, p.Info.PID, p.Info.PID)
	case ctx.Err() != nil:
		return Info{}, ctx.Err()
	}
	return Info{}, p.failure(ErrHung, "which answered with an error (%v): stop it (kill %d) and try again", err, p.Info.PID)
}

func (p *Peer) ask(ctx context.Context) (Info, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, URL+"/v1/owner", nil)
	if err != nil {
		return Info{}, err
	}
	resp, err := p.Transport.RoundTrip(req)
	if err != nil {
		return Info{}, err
	}
	defer resp.Body.Close()
	var i Info
	if resp.StatusCode != http.StatusOK {
		return Info{}, fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	return i, json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&i)
}

func (p *Peer) failure(kind error, format string, args ...any) error {
	return &Error{Kind: kind, Database: p.Info.Database, Owner: p.Info,
		text: fmt.Sprintf("is owned by %s, ", &p.Info) + fmt.Sprintf(format, args...)}
}
