package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tetratelabs/wazero"
)

func openCache(dir string) (wazero.CompilationCache, error) {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("%s is writable by every user, and its files are executed: chmod o-w it", dir)
	}
	return cache, nil
}

// compile compiles a module. If the cache is damaged (a full disk, a crash), compile
// empties it and compiles the module again.
func (e *Engine) compile(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	compiled, err := e.runtime.CompileModule(ctx, wasm)
	// wazero has no error type for a damaged cache.
	if err == nil || e.cache == nil || !strings.Contains(err.Error(), "compilationcache:") {
		return compiled, err
	}
	e.options.Logger.Warn("engine: compilation cache is damaged; emptying it", "dir", e.options.CacheDir, "error", err)
	if err := emptyCache(e.options.CacheDir); err != nil {
		return nil, err
	}
	return e.runtime.CompileModule(ctx, wasm)
}

func emptyCache(dir string) error {
	// wazero creates one folder per wazero version.
	files, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}
