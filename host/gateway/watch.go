package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/parley-wasm/parley/host"
)

// watchPause is how long nothing must happen to a watched file until it is read:
// whoever writes it may do so in parts.
const watchPause = 200 * time.Millisecond

// watched returns the module in the file that plugins.watch names, or nil if there is
// none yet, or none that can be read.
func (g *Gateway) watched() *host.Candidate {
	file := g.options.Config.Plugins.Watch
	if file == "" {
		return nil
	}
	m, err := ReadPlugin(file, "")
	switch {
	case errors.Is(err, os.ErrNotExist):
		g.options.Logger.Info("the plugin to be watched is not there yet", "file", file)
	case err != nil:
		g.options.Logger.Error("the plugin to be watched cannot be read", "error", err)
	}
	return m
}

// Watch makes what is written to the file that plugins.watch names the active
// plugin, until the returned function is called. A module that cannot serve changes
// nothing.
func (g *Gateway) Watch(ctx context.Context) (stop func(), err error) {
	file := g.options.Config.Plugins.Watch
	if file == "" {
		return func() {}, nil
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		// The folder: the file may be replaced by another one.
		err = w.Add(filepath.Dir(file))
	}
	if err != nil {
		return nil, fmt.Errorf("plugins.watch: cannot watch %s: %w: its folder must exist", file, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.follow(ctx, w, file)
	}()
	return func() {
		cancel()
		_ = w.Close() // nothing is to come of it any more
		<-done
	}, nil
}

// follow swaps whenever the file has changed and stays so for a while.
func (g *Gateway) follow(ctx context.Context, w *fsnotify.Watcher, file string) {
	quiet := time.NewTimer(0) // it may have changed since it was read
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			if e.Name == file || e.Name == file+signatureSuffix {
				quiet.Reset(watchPause)
			}
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			g.options.Logger.Error("plugins.watch: changes may have been missed", "file", file, "error", err)
			quiet.Reset(watchPause)
		case <-quiet.C:
			g.swapTo(ctx, file)
		case <-ctx.Done():
			return
		}
	}
}

func (g *Gateway) swapTo(ctx context.Context, file string) {
	c, err := ReadPlugin(file, "")
	if errors.Is(err, os.ErrNotExist) {
		return // it is about to be replaced, or gone; what serves stays
	}
	if err == nil {
		_, err = g.Swap(ctx, c)
	}
	if err != nil && ctx.Err() == nil {
		g.options.Logger.Error("plugins.watch: the plugin stays as it is", "file", file, "error", err)
	}
}
