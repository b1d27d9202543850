package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/parley-wasm/parley/host/store"
)

// Owner holds the lock of a database for this process, and the socket on which this
// process serves others. It is safe for concurrent use; the caller of Acquire or Join
// must call Close.
type Owner struct {
	info   Info
	lock   store.HeldLock
	server *http.Server
	gate   *gate
	clean  func() // removes the socket
	served chan struct{}
	cancel context.CancelFunc // cancels the contexts of all requests

	stop, release     sync.Once
	stopped, released error
}

// Acquire makes this process the owner of the database at this location (store.Backend),
// or fails with an *Error of kind store.ErrOwned. The owner answers GET /v1/owner; all
// other requests wait for Handle.
func Acquire(ctx context.Context, location string, ownership store.Ownership, o *Options) (*Owner, error) {
	opts := o.orDefault()
	lock, err := ownership.Acquire(ctx)
	if errors.Is(err, store.ErrOwned) {
		info, err := published(ctx, ownership)
		if err != nil {
			return nil, err
		}
		return nil, &Error{Kind: store.ErrOwned, Database: location, Owner: info,
			text: fmt.Sprintf("is owned by %s: stop it first", &info)}
	}
	if err != nil {
		return nil, err
	}
	owner := &Owner{lock: lock, gate: newGate(), served: make(chan struct{}), info: Info{
		API: API, Version: opts.Version, PID: os.Getpid(), Command: opts.Command, LongRunning: opts.LongRunning,
		Started: time.Now().UTC().Truncate(time.Millisecond), Database: location,
	}}
	if err := owner.start(ctx, ownership, opts.Logger); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return owner, nil
}

// start opens the socket, publishes its path, and serves it.
func (o *Owner) start(ctx context.Context, ownership store.Ownership, log *slog.Logger) error {
	previous, err := published(ctx, ownership)
	if err != nil {
		return err
	}
	if err := o.publish(&o.info); err != nil {
		return err
	}
	companion := ownership.CompanionPath(".sock")
	removeStale(o.info.Database, companion, &previous)
	socket, clean, err := listen(o.info.Database, companion)
	if err != nil {
		return err
	}
	o.info.Socket, o.clean = socket.Addr().String(), clean
	if err := o.publish(&o.info); err != nil {
		socket.Close()
		clean()
		return err
	}
	o.serve(socket, log)
	return nil
}

func (o *Owner) serve(socket net.Listener, log *slog.Logger) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/owner", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(o.info)
	})
	mux.Handle("/", o.gate)
	base, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	o.server = &http.Server{
		Handler:           mux,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	go func() {
		defer close(o.served)
		if err := o.server.Serve(socket); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("local: socket failed; other processes cannot reach this one", "socket", o.info.Socket, "error", err)
		}
	}()
}

// Info returns the description that this owner publishes.
func (o *Owner) Info() Info { return o.info }

// Handle sets the handler for requests of other processes, and passes waiting requests to
// the handler. A second call replaces the handler.
func (o *Owner) Handle(h http.Handler) { o.gate.open(h) }

// OnShutdown registers fn. Shutdown calls fn in its own goroutine after it has removed the
// socket, while it waits for the running requests.
func (o *Owner) OnShutdown(fn func()) { o.server.RegisterOnShutdown(fn) }

// Shutdown ends the service to other processes: it removes the socket, answers requests
// that still wait for Handle with 503, and waits for running requests. If ctx ends first,
// it cancels them. No request is running when Shutdown returns. The lock remains held.
func (o *Owner) Shutdown(ctx context.Context) error {
	o.stop.Do(func() {
		// Remove the socket's name first, so that no other process connects from now on.
		ending := o.info
		ending.Ending, ending.Socket = true, ""
		_ = o.publish(&ending) // if this fails, new processes may fail instead of waiting for this one
		o.clean()
		o.gate.refuse()
		if o.stopped = o.server.Shutdown(ctx); o.stopped != nil {
			o.stopped = errors.Join(o.stopped, o.server.Close())
		}
		o.cancel() // server.Close does not reach a handler that has not read its request's body
		<-o.served
		o.gate.wait()
	})
	return o.stopped
}

// Close releases the lock. It cancels requests that are still running. The caller should
// first call Shutdown and then close the database.
func (o *Owner) Close() error {
	o.release.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = o.Shutdown(ctx) // its error only reports the cancelled requests
		o.released = o.lock.Release()
	})
	return o.released
}

// publish writes the notice for other processes.
func (o *Owner) publish(i *Info) error {
	text, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("local: %w", err)
	}
	return o.lock.Publish(append(text, '\n'))
}

// published returns the last notice of an owner. It returns the zero Info if no notice
// exists, or while an owner writes its notice.
func published(ctx context.Context, ownership store.Ownership) (Info, error) {
	text, err := ownership.Notice(ctx)
	if err != nil {
		return Info{}, err
	}
	var i Info
	if err := json.Unmarshal(text, &i); err != nil {
		return Info{}, nil
	}
	return i, nil
}
