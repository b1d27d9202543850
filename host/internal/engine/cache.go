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
		return nil, fmt.Errorf("%s can be written by every user, and what lies in it is executed: chmod o-w it", dir)
	}
	return cache, nil
}

// compile compiles a module. A damaged cache (a full disk, a crash) must not keep
// a good module from loading: it is emptied, and the module compiled anew.
func (e *Engine) compile(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	compiled, err := e.runtime.CompileModule(ctx, wasm)
	// wazero has no type for this.
	if err == nil || e.cache == nil || !strings.Contains(err.Error(), "compilationcache:") {
		return compiled, err
	}
	e.options.Logger.Warn("engine: the cache of compiled modules is damaged and is emptied", "dir", e.options.CacheDir, "error", err)
	if err := emptyCache(e.options.CacheDir); err != nil {
		return nil, err
	}
	return e.runtime.CompileModule(ctx, wasm)
}

func emptyCache(dir string) error {
	// wazero keeps one folder for each of its versions.
	files, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}
