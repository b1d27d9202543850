// Package lock is the lock file of the committed plugin module: what the module
// is, and what it was made from and with. The build writes it; a test without the
// compiler compares it with the sources, so that a module that nobody rebuilt is
// found at once.
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

// Files of the build, relative to the repository. The target is part of the
// sources.
const (
	Module = "plugin/wasm/parley.wasm"
	File   = "plugin/wasm/parley.lock.json"
	Target = "plugin/toolchain/parley.json"
)

// Flags of the compiler, besides target and output.
//
// -no-debug makes the output independent of where it is built. -opt=2 instead of
// the default z: a third larger, and steps are faster.
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
	Sources   map[string]string `json:"sources"` // SHA-256 of each file; of other modules, what go.sum says
}

// Toolchain is what compiled the module.
type Toolchain struct {
	TinyGo string `json:"tinygo"`
	Go     string `json:"go"` // whose standard library it contains
	LLVM   string `json:"llvm"`
}

// New describes a finished module.
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

// Sum is a SHA-256 in hexadecimal.
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

// Differences says in what the module and its sources, as they are now, differ
// from the lock.
func (l *Lock) Differences(wasm []byte, sources map[string]string) []string {
	now, err := New(wasm, l.Toolchain, sources)
	if err != nil {
		return []string{err.Error()}
	}
	var diffs []string
	differ := func(what string, locked, found any) {
		if fmt.Sprint(locked) != fmt.Sprint(found) {
			diffs = append(diffs, fmt.Sprintf("%s: the lock says %v, found %v", what, locked, found))
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
			diffs = append(diffs, name+" is gone")
		}
	}
	if len(diffs) == 0 {
		differ("digest of the sources", l.Digest, now.Digest)
	}
	slices.Sort(diffs)
	return diffs
}
