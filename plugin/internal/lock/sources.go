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

// pkg is the output of `go list -json` for a package.
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

// Sources returns the digests of everything from which the module is built:
//
//   - the Go files of the plugin and of the packages of this repository that it imports,
//     the files they embed, and the target: SHA-256 by path in the repository;
//   - other modules: the digest in go.sum by "module version";
//   - the language version, as "go".
//
// It needs the go command, but not the plugin's compiler.
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
			// go test caches results and does not see the files that the go list
			// process reads. Because Sources reads the folder, a new file invalidates a cached result.
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

// list returns the packages of the plugin with the files that its compiler selects.
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

// goSum returns the digests in go.sum by "module version".
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
