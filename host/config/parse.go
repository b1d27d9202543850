package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/parley-wasm/parley/host/config/internal/document"
)

// Load reads the file at path; see Parse. It resolves relative paths in the settings
// (store.path, plugins.watch and a runner's dir) against the file's directory.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	// One byte above the limit, so that Parse can detect a longer file.
	text, err := io.ReadAll(io.LimitReader(f, document.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	c, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	c.resolvePaths(filepath.Dir(path))
	return c, nil
}

// resolvePaths resolves relative paths in the settings against dir.
func (c *Config) resolvePaths(dir string) {
	paths := []*string{&c.Store.Path, &c.Plugins.Watch}
	if c.Agents.Runner != nil {
		paths = append(paths, &c.Agents.Runner.Dir)
	}
	for i := range c.Agents.List {
		if r := c.Agents.List[i].Runner; r != nil {
			paths = append(paths, &r.Dir)
		}
	}
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
}

// Parse reads settings from JSON5. name is the file name that problems quote. Parse fails
// with Errors, which list all problems of the file. Secrets given as {env: NAME} are read
// from the environment.
func Parse(name string, text []byte) (*Config, error) {
	doc, err := document.Parse(text)
	if err != nil {
		p := &Problem{File: name, Message: err.Error()}
		var e *document.Error
		if errors.As(err, &e) {
			p.Line, p.Column, p.Message = e.Line, e.Column, "not valid JSON5: "+e.Message
		}
		return nil, Errors{p}
	}
	r := &reader{file: name, doc: doc}
	c := Default()
	c.read(r, value{node: doc.Root})
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, byPosition)
		return nil, r.problems
	}
	return c, nil
}

func byPosition(a, b *Problem) int {
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.Column - b.Column
}
