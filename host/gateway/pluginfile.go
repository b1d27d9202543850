package gateway

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/module"
)

// signatureSuffix is what the name of a module's signature adds to the module's.
const signatureSuffix = ".sig"

// ReadPlugin reads a module that is to serve. Its signature is in another file,
// beside it by default, where there may be none.
func ReadPlugin(path, signature string) (*host.Candidate, error) {
	wasm, err := ReadModule(path)
	if err != nil {
		return nil, err
	}
	c := &host.Candidate{Wasm: wasm}
	if c.Origin, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	beside := signature == ""
	if beside {
		signature = path + signatureSuffix
	}
	text, err := os.ReadFile(signature)
	switch {
	case beside && errors.Is(err, os.ErrNotExist):
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read the signature: %w", err)
	}
	if c.Signature, err = module.ParseSignature(text); err != nil {
		return nil, fmt.Errorf("%s: %w", signature, err)
	}
	return c, nil
}

// ReadModule reads a module, and refuses files that cannot be one.
func ReadModule(path string) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the plugin: %w", err)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: is not a regular file: name a WebAssembly module", path)
	case st.Size() > host.MaxModule:
		return nil, fmt.Errorf("%s: has %d bytes; a plugin module has at most %d", path, st.Size(), host.MaxModule)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the plugin: %w", err)
	}
	return b, nil
}

// PluginError says which file, and what to do about it.
func PluginError(file string, err error) error {
	hint := "a plugin of this repository is built by ./build.sh wasm"
	switch {
	case errors.Is(err, engine.NotAModule):
		hint = "name a WebAssembly module (.wasm, not .wat)"
	case errors.Is(err, engine.WrongABI):
		hint = fmt.Sprintf("use a plugin for ABI %d", abi.Version)
	case errors.Is(err, abi.Limit):
		hint = "a plugin of this repository keeps within the default limits"
	}
	return fmt.Errorf("%s: %w: %s", file, err, hint)
}
