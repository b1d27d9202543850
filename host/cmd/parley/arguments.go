package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/host"
)

// arguments reads a tool's arguments: JSON text, - for standard input, @FILE,
// or nothing. They must be one JSON object, which is checked before anything is
// opened.
func arguments(text string, stdin io.Reader) ([]byte, error) {
	raw, where, err := argumentText(text, stdin)
	if err != nil {
		return nil, usage(err)
	}
	if len(raw) > host.MaxArgs {
		return nil, usage(fmt.Errorf("%s: more than %d bytes; that is the limit for a call", where, host.MaxArgs))
	}
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 && text != "":
		return nil, usage(fmt.Errorf("%s: is empty: give a JSON object, such as {}", where))
	case len(raw) == 0:
		return []byte("{}"), nil
	}
	if err := jsonstrict.Check(raw); err != nil {
		return nil, usage(fmt.Errorf("%s: no strict JSON: %w", where, err))
	}
	if raw[0] != '{' {
		return nil, usage(fmt.Errorf("%s: must be a JSON object, such as {\"limit\": 5}", where))
	}
	return raw, nil
}

func argumentText(text string, stdin io.Reader) (raw []byte, where string, err error) {
	if text == "-" {
		raw, err = readLimited(stdin)
		return raw, "arguments on standard input", err
	}
	path, ok := strings.CutPrefix(text, "@")
	if !ok {
		return []byte(text), "arguments", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("cannot read the arguments: %w", err)
	}
	defer f.Close()
	raw, err = readLimited(f)
	return raw, path, err
}

// readLimited reads one byte more than is allowed, so that too much shows.
func readLimited(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, host.MaxArgs+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the arguments: %w", err)
	}
	return raw, nil
}
