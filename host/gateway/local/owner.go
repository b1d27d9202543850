package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Lock is the ownership of a database, and the socket on which its owner
// serves. It is safe for concurrent use; who acquired it closes it.
type Lock struct {
	info   Info
	file   *os.File
	server *http.Server
	gate   *gate
	clean  func() // removes the socket
	served chan struct{}
	cutOff context.CancelFunc // ends the contexts of all requests

	stop, release     sync.Once
	stopped, released error
}

// Acquire takes the database for this process, or fails with an *Error of kind
// ErrOwned. From here on GET /v1/owner is answered; requests for anything else
// wait until Handle says who answers them.
func Acquire(ctx context.Context, database string, o *Options) (*Lock, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	opts := o.orDefault()
	p, err := locate(database)
	if err != nil {
		return nil, err
	}
	file, err := lockFile(p)
	if err != nil {
		return nil, err
	}
	l := &Lock{file: file, gate: newGate(), served: make(chan struct{}), info: Info{
		API: API, Version: opts.Version, PID: os.Getpid(), Command: opts.Command, Stays: opts.Stays,
		Started: time.Now().UTC().Truncate(time.Millisecond), Database: p.database,
	}}
	previous, _ := readInfo(file)
	if err := l.start(p, &previous, opts.Logger); err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// start opens the socket and publishes it. previous is what the last owner left
// in the lock file.
func (l *Lock) start(p paths, previous *Info, log *slog.Logger) error {
	if err := l.publish(&l.info); err != nil {
		return err
	}
	removeStale(p, previous)
	socket, clean, err := listen(p)
	if err != nil {
		return err
	}
	l.info.Socket, l.clean = socket.Addr().String(), clean
	if err := l.publish(&l.info); err != nil {
		socket.Close()
		clean()
		return err
	}
	l.serve(socket, log)
	return nil
}

func (l *Lock) serve(socket net.Listener, log *slog.Logger) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/owner", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(l.info)
	})
	mux.Handle("/", l.gate)
	base, cutOff := context.WithCancel(context.Background())
	l.cutOff = cutOff
	l.server = &http.Server{
		Handler:           mux,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	go func() {
		defer close(l.served)
		if err := l.server.Serve(socket); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("local: the socket fails; other processes cannot reach this one", "socket", l.info.Socket, "error", err)
		}
	}()
}

// Info returns what this owner says of itself.
func (l *Lock) Info() Info { return l.info }

// Handle sets who answers the requests of other processes; those that have been
// waiting go on. It may be called again.
func (l *Lock) Handle(h http.Handler) { l.gate.open(h) }

// OnShutdown lets fn be called, in a goroutine of its own, when Shutdown has
// begun: nobody finds the socket any more, and running requests are waited for.
func (l *Lock) OnShutdown(fn func()) { l.server.RegisterOnShutdown(fn) }

// Shutdown ends the service to other processes: it removes the socket, lets
// running requests end and refuses those that still wait for Handle with 503.
// When ctx ends first, requests are cut off. None is running when it returns.
// The lock stays.
func (l *Lock) Shutdown(ctx context.Context) error {
	l.stop.Do(func() {
		// The socket's name goes first: whoever looks from now on finds nobody.
		ending := l.info
		ending.Ending, ending.Socket = true, ""
		_ = l.publish(&ending) // it only explains
		l.clean()
		l.gate.refuse()
		if l.stopped = l.server.Shutdown(ctx); l.stopped != nil {
			l.stopped = errors.Join(l.stopped, l.server.Close())
		}
		l.cutOff() // a handler that did not read its request's body learns nothing from Close
		<-l.served
		l.gate.wait()
	})
	return l.stopped
}

// Close gives up the lock. Requests that are still running are cut off: call
// Shutdown first, and close the database in between.
func (l *Lock) Close() error {
	l.release.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = l.Shutdown(ctx) // cutting off is what was asked for
		l.released = errors.Join(l.file.Truncate(0), l.file.Close())
	})
	return l.released
}

// publish writes the lock file in place: replacing it would lose the lock.
func (l *Lock) publish(i *Info) error {
	text, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("local: %w", err)
	}
	if err = l.file.Truncate(0); err == nil {
		_, err = l.file.WriteAt(append(text, '\n'), 0)
	}
	if err != nil {
		return fmt.Errorf("local: %s: cannot write: %w", l.file.Name(), err)
	}
	return nil
}

// lockFile opens and locks the lock file. A file that was replaced under our
// hands, by somebody tidying up, is opened again.
func lockFile(p paths) (*os.File, error) {
	for {
		f, err := os.OpenFile(p.lock, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("%s: cannot open the lock file: %w", p.database, err)
		}
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EWOULDBLOCK):
			info, _ := readInfo(f)
			f.Close()
			return nil, &Error{Kind: ErrOwned, Database: p.database, Owner: info,
				text: fmt.Sprintf("is owned by %s: stop it first", &info)}
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("%s: cannot lock the file (%w): put the database on a file system with locks", p.lock, err)
		}
		if same(f, p.lock) {
			return f, nil
		}
		f.Close()
	}
}

func same(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// readInfo reads a lock file. It is empty while an owner starts or stops.
func readInfo(f *os.File) (Info, error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 64<<10))
	if err != nil {
		return Info{}, err
	}
	var i Info
	if err := json.Unmarshal(text, &i); err != nil {
		return Info{}, err
	}
	return i, nil
}
