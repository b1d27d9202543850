package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is what `go list -json` says of a package.
type pkg struct {
	Dir        string
	Standard   bool
	GoFiles    []string
	EmbedFiles []string
	Module     *struct {
		Path, Version, Dir, GoVersion string
		Main                          bool
	}
}

// Sources lists everything that the module is made from: the files of the plugin
// and of the packages of this repository that it imports, with what they embed,
// by their path in the repository, each with its SHA-256; the target; other
// modules with what go.sum says of them; and the version of the language. It
// needs the go command, not the plugin's compiler.
func Sources(root string) (map[string]string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	packages, err := list(root)
	if err != nil {
		return nil, err
	}
	sums, err := goSum(root)
	if err != nil {
		return nil, err
	}
	sources := map[string]string{}
	add := func(path string) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		sources[filepath.ToSlash(name)] = Sum(b)
		return err
	}
	if err := add(filepath.Join(root, filepath.FromSlash(Target))); err != nil {
		return nil, err
	}
	for _, p := range packages {
		switch {
		case p.Standard:
		case !p.Module.Main:
			name := p.Module.Path + " " + p.Module.Version
			sources[name] = sums[name]
		default:
			sources["go"] = p.Module.GoVersion
			// go list finds a new file in a process of its own; go test, which keeps
			// results, must see that the folder was looked at.
			if _, err := os.ReadDir(p.Dir); err != nil {
				return nil, err
			}
			for _, f := range slices.Concat(p.GoFiles, p.EmbedFiles) {
				if err := add(filepath.Join(p.Dir, f)); err != nil {
					return nil, err
				}
			}
		}
	}
	return sources, nil
}

// list asks for the packages of the plugin as its compiler would choose their
// files.
func list(root string) ([]pkg, error) {
	var target struct {
		GOOS   string   `json:"goos"`
		GOARCH string   `json:"goarch"`
		GC     string   `json:"gc"`
		Tags   []string `json:"build-tags"`
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(Target)))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &target); err != nil {
		return nil, fmt.Errorf("%s: %w", Target, err)
	}
	tags := append(target.Tags, "tinygo", "purego", "gc."+target.GC)
	cmd := exec.Command("go", "list", "-deps", "-tags", strings.Join(tags, ","), "-json=Dir,Standard,GoFiles,EmbedFiles,Module", "./plugin")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+target.GOOS, "GOARCH="+target.GOARCH, "CGO_ENABLED=0", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./plugin: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	var packages []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list ./plugin: %w", err)
		}
		packages = append(packages, p)
	}
}

// goSum reads the digests of go.sum by "module version".
func goSum(root string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 {
			sums[f[0]+" "+f[1]] = f[2]
		}
	}
	return sums, nil
}

func digest(sources map[string]string) string {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		fmt.Fprintf(&b, "%s\t%s\n", name, sources[name])
	}
	return Sum(b.Bytes())
}
