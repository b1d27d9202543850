package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/plugin/internal/lock"
)

// repro compiles the plugin twice and compares the results with the committed module.
// The two directories differ in name and depth and have separate caches. They contain
// only go.mod, go.sum and the sources that the lock file lists, so that the compilation
// fails if the list lacks a file.
func repro(ctx context.Context, root string) error {
	committed, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(lock.Module)))
	if err != nil {
		return fmt.Errorf("read the committed module: %w; run ./build.sh wasm", err)
	}
	l, err := lock.Read(root)
	if err != nil {
		return err
	}
	sources, err := lock.Sources(root)
	if err != nil {
		return err
	}
	if diffs := l.Differences(committed, sources); len(diffs) > 0 {
		return fmt.Errorf("%s is stale, run ./build.sh wasm:\n  %s", lock.Module, strings.Join(diffs, "\n  "))
	}
	c, err := findCompiler(ctx, root)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "repro")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	show("committed", committed)
	same := true
	for _, dir := range []string{"a", filepath.Join("another", "much-longer-name", "b")} {
		dir = filepath.Join(temp, dir)
		if err := copySources(dir, root, sources); err != nil {
			return err
		}
		wasm, err := c.compile(ctx, dir, filepath.Join(dir, ".cache"))
		if err != nil {
			return err
		}
		show("rebuilt", wasm)
		same = same && bytes.Equal(wasm, committed)
	}
	if !same {
		return fmt.Errorf("the rebuilt modules differ from the committed one.\n  lock file:    %+v\n  this machine: %+v\n  If the versions are equal, this is a bug in the build", l.Toolchain, c.versions)
	}
	fmt.Println("all three modules are identical")
	return nil
}

func show(what string, wasm []byte) {
	fmt.Printf("%-10s %s  %d bytes\n", what, lock.Sum(wasm), len(wasm))
}

func copySources(dst, root string, sources map[string]string) error {
	files := []string{"go.mod", "go.sum"}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if strings.Contains(name, "/") && !strings.Contains(name, " ") { // neither a Go module nor "go"
			files = append(files, name)
		}
	}
	for _, name := range files {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		path := filepath.Join(dst, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
