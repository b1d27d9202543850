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

// watchPause is how long a watched file must be unchanged before it is read: another
// process may write it in parts.
const watchPause = 200 * time.Millisecond

// watched returns the module in the file that plugins.watch names, or nil if the file
// does not exist or cannot be read.
func (g *Gateway) watched() *host.PluginFile {
	file := g.options.Config.Plugins.Watch
	if file == "" {
		return nil
	}
	m, err := ReadPlugin(file, "")
	switch {
	case errors.Is(err, os.ErrNotExist):
		g.options.Logger.Info("plugins.watch: the file does not exist yet", "file", file)
	case err != nil:
		g.options.Logger.Error("plugins.watch: cannot read the plugin", "error", err)
	}
	return m
}

// Watch swaps to the module in the file that plugins.watch names whenever the file
// changes, until stop is called or ctx ends. A module that fails to load changes nothing.
func (g *Gateway) Watch(ctx context.Context) (stop func(), err error) {
	file := g.options.Config.Plugins.Watch
	if file == "" {
		return func() {}, nil
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		// Watch the folder, because the file may be replaced by a rename.
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
		_ = w.Close() // its events are no longer needed
		<-done
	}, nil
}

// follow swaps when the file has changed and then stayed unchanged for watchPause.
func (g *Gateway) follow(ctx context.Context, w *fsnotify.Watcher, file string) {
	quiet := time.NewTimer(0) // the file may have changed since it was read
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
		return // removed, perhaps to be replaced: the active version stays
	}
	if err == nil {
		_, err = g.Swap(ctx, c)
	}
	if err != nil && ctx.Err() == nil {
		g.options.Logger.Error("plugins.watch: swap failed; the active version is unchanged", "file", file, "error", err)
	}
}
