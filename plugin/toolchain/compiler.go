package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/parley-wasm/parley/plugin/internal/lock"
)

// llvm is the LLVM version that compiles the plugin. TinyGo supports several versions,
// and the bytes of the module depend on it.
const llvm = "19"

const packages = "llvm-19-dev libclang-19-dev lld-19 clang-19"

// compiler is an executable TinyGo.
type compiler struct {
	path     string
	root     string // TINYGOROOT; empty: TinyGo's default
	versions lock.Toolchain
}

// findCompiler returns the pinned TinyGo, and builds it if necessary.
func findCompiler(ctx context.Context, root string) (*compiler, error) {
	want, err := pins(root)
	if err != nil {
		return nil, err
	}
	if err := os.Setenv("GOTOOLCHAIN", "go"+want.Go); err != nil { // for every go command that follows
		return nil, err
	}
	if path, err := exec.LookPath("tinygo"); err == nil {
		c := &compiler{path: path}
		if err := c.check(ctx, want); err == nil {
			return c, nil
		} else {
			progress("not using %s: %v", path, err)
		}
	}
	if err := checkPackages(ctx); err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "parley", "tinygo-"+want.TinyGo+"-llvm"+llvm)
	c := &compiler{path: filepath.Join(dir, "tinygo"), root: filepath.Join(dir, "root")}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := install(ctx, root, dir, want.TinyGo); err != nil {
			return nil, err
		}
	}
	if err := c.check(ctx, want); err != nil {
		return nil, fmt.Errorf("%s is not usable; remove the folder %s and try again: %w", c.path, dir, err)
	}
	return c, nil
}

// pins reads the versions of TinyGo and Go from tinygo/go.mod.
func pins(root string) (lock.Toolchain, error) {
	path := filepath.Join(root, "plugin", "toolchain", "tinygo", "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		return lock.Toolchain{}, err
	}
	tinygo := regexp.MustCompile(`(?m)github\.com/tinygo-org/tinygo v(\S+)`).FindSubmatch(text)
	golang := regexp.MustCompile(`(?m)^toolchain go(\S+)$`).FindSubmatch(text)
	if tinygo == nil || golang == nil {
		return lock.Toolchain{}, fmt.Errorf("%s: no toolchain line, or no version of github.com/tinygo-org/tinygo", path)
	}
	return lock.Toolchain{TinyGo: string(tinygo[1]), Go: string(golang[1])}, nil
}

var versionLine = regexp.MustCompile(`^tinygo version (\S+) .*go version go(\S+) and LLVM version (\S+)\)`)

// check asks the compiler for its versions and compares them.
func (c *compiler) check(ctx context.Context, want lock.Toolchain) error {
	out, err := c.command(ctx, "", "version").Output()
	if err != nil {
		return fmt.Errorf("tinygo version: %w", err)
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return fmt.Errorf("tinygo version: cannot read %q", bytes.TrimSpace(out))
	}
	c.versions = lock.Toolchain{TinyGo: string(m[1]), Go: string(m[2]), LLVM: string(m[3])}
	if c.versions.TinyGo != want.TinyGo || c.versions.Go != want.Go || !strings.HasPrefix(c.versions.LLVM, llvm+".") {
		return fmt.Errorf("version is %+v, want TinyGo %s, Go %s, LLVM %s", c.versions, want.TinyGo, want.Go, llvm)
	}
	return nil
}

// checkPackages returns an error that lists the missing tools among those that TinyGo needs
// to be built and to run.
func checkPackages(ctx context.Context) error {
	cxx, err := exec.CommandContext(ctx, "go", "env", "CXX").Output()
	if err != nil {
		return fmt.Errorf("go env CXX: %w", err)
	}
	var missing []string
	for _, tool := range []string{"clang-" + llvm, "wasm-ld-" + llvm, "llvm-config-" + llvm, strings.Fields(string(cxx) + " ")[0]} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("building TinyGo needs LLVM %s and a C++ compiler; not found: %s. On Debian and Ubuntu:\n  apt-get install %s g++",
		llvm, strings.Join(missing, ", "), packages)
}

// install builds TinyGo from its Go module into dir: the program, and a copy of the
// sources of its runtime, which TinyGo compiles into every program.
func install(ctx context.Context, root, dir, version string) error {
	progress("building TinyGo %s with LLVM %s, once; this takes about half a minute", version, llvm)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	const module = "github.com/tinygo-org/tinygo"
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = filepath.Join(root, "plugin", "toolchain", "tinygo")
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args[:1], " "), err, tail(stderr.String(), 30))
		}
		return out, nil
	}
	if _, err := run("build", "-tags", "llvm"+llvm, "-o", filepath.Join(temp, "tinygo"), module); err != nil {
		return fmt.Errorf("build TinyGo: %w\nIf a header or library is missing, on Debian and Ubuntu:\n  apt-get install %s g++", err, packages)
	}
	source, err := run("list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return err
	}
	// The module's directory is read-only. It lacks src/net, which is a Git submodule;
	// with an empty src/net TinyGo uses Go's package.
	tree := filepath.Join(temp, "root")
	if err := os.CopyFS(tree, os.DirFS(strings.TrimSpace(string(source)))); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(tree, "src", "net"), 0o755); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		if _, other := os.Stat(dir); other == nil {
			return nil // another process installed it first
		}
		return err
	}
	return nil
}

// command returns a command that runs the compiler, with the cache directory cache
// unless it is empty.
func (c *compiler) command(ctx context.Context, cache string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if c.root != "" {
		cmd.Env = append(cmd.Env, "TINYGOROOT="+c.root)
	}
	if cache != "" {
		// On systems other than Linux and BSD, TinyGo ignores the variable and uses the user's cache.
		cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache)
	}
	return cmd
}

// tail returns the last n lines.
func tail(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
