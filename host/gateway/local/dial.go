package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/sys/unix"

	"github.com/parley-wasm/parley/host/store"
)

// Dial connects to the owner of the database at this location (store.Backend) and checks
// that the owner answers. It fails with an *Error of kind ErrHung, ErrMismatch, or, if no
// owner is listening, ErrFree.
func Dial(ctx context.Context, location string, ownership store.Ownership, o *Options) (*Peer, error) {
	opts := o.orDefault()
	info, err := published(ctx, ownership)
	if err != nil {
		return nil, err
	}
	if info.Socket == "" || info.Database != location {
		return nil, &Error{Kind: ErrFree, Database: location, text: "no process owns it"}
	}
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", info.Socket)
		},
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     30 * time.Second,
	}
	peer := &Peer{Info: info, Transport: t, timeout: opts.Timeout, idle: t.CloseIdleConnections}
	if peer.Info, err = peer.identify(ctx); err != nil {
		peer.Close()
		return nil, err
	}
	return peer, nil
}

// Join makes this process the owner of the database at this location, or connects to its
// owner: on success exactly one of owner and peer is not nil. It waits at most
// Options.Timeout for an owner that is starting, and at most Options.ShutdownTimeout for
// one that is ending.
func Join(ctx context.Context, location string, ownership store.Ownership, o *Options) (owner *Owner, peer *Peer, err error) {
	opts := o.orDefault()
	start, timeout, state := time.Now(), opts.Timeout, "which is unreachable: no socket"
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		var owned *Error
		if owner, err = Acquire(ctx, location, ownership, &opts); err == nil || !errors.As(err, &owned) {
			return owner, nil, err
		}
		if peer, err = Dial(ctx, location, ownership, &opts); !errors.Is(err, ErrFree) {
			return nil, peer, err
		}
		if owned.Owner.Ending { // also applies after the owner has removed its notice
			timeout, state = opts.ShutdownTimeout, "which is shutting down and has not exited"
		}
		if time.Since(start) > timeout {
			return nil, nil, &Error{Kind: ErrHung, Database: owned.Database, Owner: owned.Owner, text: fmt.Sprintf(
				"is owned by %s, %s after %s: stop that process and try again; nothing was changed", &owned.Owner, state, timeout)}
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Disconnected reports whether a request failed because no process listens on the
// socket, or the listening process has ended.
func Disconnected(err error) bool {
	for _, e := range []error{unix.ENOENT, unix.ECONNREFUSED, unix.ECONNRESET, unix.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
