package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/module"
)

// signatureSuffix is what the name of a module's signature adds to the module's.
const signatureSuffix = ".sig"

// readPlugin reads a module that is to serve. Its signature is in another file,
// beside it by default, where there may be none.
func readPlugin(path, signature string) (*host.Candidate, error) {
	wasm, err := readModule(path)
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

func readModule(path string) ([]byte, error) {
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
