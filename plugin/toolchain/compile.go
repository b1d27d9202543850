package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/wasmedit"
	"github.com/parley-wasm/parley/plugin/internal/lock"
)

// compile compiles the plugin in the tree at root and finishes the module. cache is the
// compiler's cache directory; if it is empty, the compiler uses the user's.
func (c *compiler) compile(ctx context.Context, root, cache string) ([]byte, error) {
	temp, err := os.MkdirTemp("", "parley-wasm")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out := filepath.Join(temp, "plugin.wasm")
	args := append([]string{"build", "-target", filepath.Join(root, filepath.FromSlash(lock.Target)), "-o", out}, lock.Flags...)
	cmd := c.command(ctx, cache, append(args, "./plugin")...)
	cmd.Dir = root
	cmd.Env = append(cmd.Env, "WASMOPT="+self, asWasmOpt+"=1")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("tinygo build ./plugin: %w\n%s", err, tail(output.String(), 40))
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	return finish(wasm)
}

// finish converts TinyGo's module into one that every host can use, and checks it.
func finish(wasm []byte) ([]byte, error) {
	m, err := wasmedit.Parse(wasm)
	if err != nil {
		return nil, fmt.Errorf("parse the module from TinyGo: %w", err)
	}
	if err := m.StartFromExport("_initialize"); err != nil {
		return nil, err
	}
	var errs []error
	for _, i := range m.Imports {
		if i.Module != abi.EnvModule && i.Module != abi.ImportModule {
			errs = append(errs, fmt.Errorf("the module imports %s, which hosts of the ABI do not provide", i))
		}
	}
	for _, name := range []string{abi.ExportDescribe, abi.ExportCall, abi.ExportResume} {
		if m.Export(name) == nil {
			errs = append(errs, fmt.Errorf("the module does not export %s", name))
		}
	}
	// TinyGo also exports functions of its runtime, which hosts must not call.
	m.KeepExports(abi.ExportDescribe, abi.ExportDerive, abi.ExportCall, abi.ExportResume, abi.ExportInput, "memory")
	return m.Encode(), errors.Join(errs...)
}

// asWasmOpt names an environment variable. If it is set, this program acts as wasm-opt.
const asWasmOpt = "PARLEY_TOOLCHAIN_AS_WASM_OPT"

// wasmOpt replaces Binaryen's wasm-opt, which TinyGo always runs, and copies the module
// unchanged. The output of the real one depends on its version, which differs between
// distributions. After LLVM's own passes, the real one
// saves a tenth of the module's size, but does not make its steps faster.
func wasmOpt(args []string) error {
	if slices.Contains(args, "--version") {
		fmt.Println("wasm-opt version 102")
		return nil
	}
	at := slices.Index(args, "--output")
	if at < 1 || at+1 >= len(args) {
		return fmt.Errorf("wasm-opt: no input and output file in the arguments %q", args)
	}
	in, err := os.Open(args[at-1])
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(args[at+1])
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	return out.Close()
}
