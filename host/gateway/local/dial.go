package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Dial reaches the owner of the database and makes sure that it answers. It
// fails with an *Error: ErrFree when nobody is there, ErrHung, or ErrMismatch.
// It changes nothing.
func Dial(ctx context.Context, database string, o *Options) (*Peer, error) {
	opts := o.orDefault()
	p, err := locate(database)
	if err != nil {
		return nil, err
	}
	info, err := published(p)
	if err != nil {
		return nil, err
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

// Join makes this process the owner of the database, or reaches the one that
// is: exactly one of lock and peer is not nil. While an owner is on its way in
// it looks again, for at most the time-out; for one on its way out it has
// Options.Patience.
func Join(ctx context.Context, database string, o *Options) (lock *Lock, peer *Peer, err error) {
	opts := o.orDefault()
	start, patience, state := time.Now(), opts.Timeout, "which nobody can reach: no socket"
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		var owned *Error
		if lock, err = Acquire(ctx, database, &opts); err == nil || !errors.As(err, &owned) {
			return lock, nil, err
		}
		if peer, err = Dial(ctx, database, &opts); !errors.Is(err, ErrFree) {
			return nil, peer, err
		}
		if owned.Owner.Ending { // until it is gone, although the file is emptied before
			patience, state = opts.Patience, "which is ending: it is not over"
		}
		if time.Since(start) > patience {
			return nil, nil, &Error{Kind: ErrHung, Database: owned.Database, Owner: owned.Owner, text: fmt.Sprintf(
				"is owned by %s, %s after %s: stop that process and try again; nothing was changed", &owned.Owner, state, patience)}
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// published reads what the owner wrote into the lock file. It does not test the
// lock: that would be in the way of a process that is about to take it.
func published(p paths) (Info, error) {
	free := &Error{Kind: ErrFree, Database: p.database, text: "no process owns it"}
	f, err := os.Open(p.lock)
	if errors.Is(err, os.ErrNotExist) {
		return Info{}, free
	}
	if err != nil {
		return Info{}, fmt.Errorf("%s: cannot read the lock file: %w", p.database, err)
	}
	defer f.Close()
	info, err := readInfo(f)
	if err != nil || info.Socket == "" || info.Database != p.database {
		return Info{}, free
	}
	return info, nil
}

// Disconnected reports whether a request failed because nobody listens at the
// socket, or who listened has gone.
func Disconnected(err error) bool {
	for _, e := range []error{unix.ENOENT, unix.ECONNREFUSED, unix.ECONNRESET, unix.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
