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

// signatureSuffix is appended to a module's file name to name its signature file.
const signatureSuffix = ".sig"

// ReadPlugin reads a module and its signature. signature names the signature's file; if
// it is empty, the default is path + ".sig", which need not exist.
func ReadPlugin(path, signature string) (*host.PluginFile, error) {
	wasm, err := ReadModule(path)
	if err != nil {
		return nil, err
	}
	c := &host.PluginFile{Wasm: wasm}
	if c.Origin, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	optional := signature == ""
	if optional {
		signature = path + signatureSuffix
	}
	text, err := os.ReadFile(signature)
	switch {
	case optional && errors.Is(err, os.ErrNotExist):
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read the signature: %w", err)
	}
	if c.Signature, err = module.ParseSignature(text); err != nil {
		return nil, fmt.Errorf("%s: %w", signature, err)
	}
	return c, nil
}

// ReadModule reads a module. It refuses files that are too large or not regular.
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

// PluginError adds the file name and a hint to an error in loading a plugin.
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
