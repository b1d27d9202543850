// Package lock reads and writes the lock file of the committed plugin module: the
// module's digest, sources and toolchain. The build writes the file. A test, which does
// not need the compiler, compares it with the sources and thereby detects a stale module.
package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// Files of the build, relative to the root of the repository. The target is one of the
// sources.
const (
	Module = "plugin/wasm/parley.wasm"
	File   = "plugin/wasm/parley.lock.json"
	Target = "plugin/toolchain/parley.json"
)

// Flags of the compiler, besides target and output.
//
// -no-debug makes the output independent of the build directory. -opt=2 instead of the
// default z makes the module a third larger and its steps faster.
var Flags = []string{"-no-debug", "-opt=2", "-panic=trap"}

// Lock is the content of the lock file.
type Lock struct {
	ABI       int               `json:"abi"`
	SHA256    string            `json:"sha256"` // of the module
	Size      int               `json:"size"`   // bytes
	Exports   []string          `json:"exports"`
	Imports   []string          `json:"imports"`
	Toolchain Toolchain         `json:"toolchain"`
	Flags     []string          `json:"flags"`
	Digest    string            `json:"digest"`  // SHA-256 over Sources
	Sources   map[string]string `json:"sources"` // SHA-256 of each file; for other modules, the digest in go.sum
}

// Toolchain is the compiler of the module.
type Toolchain struct {
	TinyGo string `json:"tinygo"`
	Go     string `json:"go"` // version of the standard library in the module
	LLVM   string `json:"llvm"`
}

// New returns the lock of a compiled module.
func New(wasm []byte, tools Toolchain, sources map[string]string) (*Lock, error) {
	m, err := wasmedit.Parse(wasm)
	if err != nil {
		return nil, fmt.Errorf("the module is malformed %w", err)
	}
	l := &Lock{
		ABI: abi.Version, SHA256: Sum(wasm), Size: len(wasm),
		Toolchain: tools, Flags: Flags, Digest: digest(sources), Sources: sources,
	}
	for _, e := range m.Exports {
		l.Exports = append(l.Exports, e.String())
	}
	for _, i := range m.Imports {
		l.Imports = append(l.Imports, i.String())
	}
	slices.Sort(l.Exports)
	slices.Sort(l.Imports)
	return l, nil
}

// Sum returns the SHA-256 of b in hexadecimal.
func Sum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Read reads the lock file of the repository at root.
func Read(root string) (*Lock, error) {
	text, err := os.ReadFile(filepath.Join(root, File))
	if err != nil {
		return nil, fmt.Errorf("%w; run ./build.sh wasm", err)
	}
	l := &Lock{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(l); err != nil {
		return nil, fmt.Errorf("%s: %w; run ./build.sh wasm", File, err)
	}
	return l, nil
}

// Write writes the lock file of the repository at root.
func (l *Lock) Write(root string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(l); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, File), b.Bytes(), 0o644)
}

// Differences returns the differences between the lock and the given module and sources.
func (l *Lock) Differences(wasm []byte, sources map[string]string) []string {
	now, err := New(wasm, l.Toolchain, sources)
	if err != nil {
		return []string{err.Error()}
	}
	var diffs []string
	differ := func(name string, locked, found any) {
		if fmt.Sprint(locked) != fmt.Sprint(found) {
			diffs = append(diffs, fmt.Sprintf("%s: lock has %v, found %v", name, locked, found))
		}
	}
	differ("ABI version", l.ABI, now.ABI)
	differ("size of the module", l.Size, now.Size)
	differ("SHA-256 of the module", l.SHA256, now.SHA256)
	differ("exports", l.Exports, now.Exports)
	differ("imports", l.Imports, now.Imports)
	differ("flags", l.Flags, now.Flags)
	for name, sum := range sources {
		if locked, ok := l.Sources[name]; !ok {
			diffs = append(diffs, name+" is new")
		} else if locked != sum {
			diffs = append(diffs, name+" has changed")
		}
	}
	for name := range l.Sources {
		if _, ok := sources[name]; !ok {
			diffs = append(diffs, name+" is missing")
		}
	}
	if len(diffs) == 0 {
		differ("digest of the sources", l.Digest, now.Digest)
	}
	slices.Sort(diffs)
	return diffs
}
