// Command toolchain compiles the plugin.
//
//	go run ./plugin/toolchain build    compile plugin/ to plugin/wasm/parley.wasm and write its lock file
//	go run ./plugin/toolchain repro    compile twice in different directories and compare
//
// The compiler is the TinyGo version that tinygo/go.mod pins. The command uses the
// TinyGo on PATH if it is of that version and of LLVM 19. Otherwise it builds TinyGo
// once from its Go module and keeps it in the user's cache directory. It then finishes
// the module: it makes the reactor's _initialize the start function, because hosts
// without WASI do not call it, and checks the imports.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/parley-wasm/parley/plugin/internal/lock"
)

func main() {
	if os.Getenv(asWasmOpt) != "" {
		if err := wasmOpt(os.Args[1:]); err != nil {
			fail(err)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	verbs := map[string]func(context.Context, string) error{"build": build, "repro": repro}
	if len(os.Args) != 2 || verbs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: go run ./plugin/toolchain build|repro")
		os.Exit(2)
	}
	root, err := findRoot()
	if err == nil {
		err = verbs[os.Args[1]](ctx, root)
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "toolchain:", err)
	os.Exit(1)
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "toolchain: "+format+"\n", args...)
}

// findRoot returns the repository's root: the current folder, or its nearest parent, that
// contains the TinyGo target.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(lock.Target))); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no %s in this folder or its parents; run this in the repository", lock.Target)
		}
	}
}

// build compiles the plugin and writes the module and its lock file.
func build(ctx context.Context, root string) error {
	sources, err := lock.Sources(root)
	if err != nil {
		return err
	}
	c, err := findCompiler(ctx, root)
	if err != nil {
		return err
	}
	start := time.Now()
	wasm, err := c.compile(ctx, root, "")
	if err != nil {
		return err
	}
	l, err := lock.New(wasm, c.versions, sources)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, lock.Module), wasm, 0o644); err != nil {
		return err
	}
	if err := l.Write(root); err != nil {
		return err
	}
	fmt.Printf("%s  %s  %d bytes, %.1f s\n", l.SHA256, lock.Module, l.Size, time.Since(start).Seconds())
	return nil
}
