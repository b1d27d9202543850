package main

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// replayed are the recordings whose last steps are replayed: 99 times out of 100 the
// first one, otherwise the second.
var replayed = [...]string{"S2.1/limit-low", "S2.3/fifty-rows"}

//go:embed node
var node embed.FS

// soakNode replays recorded steps in one plugin instance. It installs the SDK in dir,
// outside of the checkout.
func soakNode(ctx context.Context, dir string, steps int, m *memory) error {
	if err := os.CopyFS(dir, node); err != nil {
		return err
	}
	dir = filepath.Join(dir, "node")
	if err := install(ctx, dir); err != nil {
		return err
	}
	// V8 doubles its nursery once in half a million steps, which is not a leak. The flags
	// fix the nursery's size.
	args := []string{"--expose-gc", "--no-warnings", "--min-semi-space-size=4", "--max-semi-space-size=4", "soak.mjs", "parley.wasm", fmt.Sprint(steps)}
	if err := os.WriteFile(filepath.Join(dir, "parley.wasm"), wasm.Parley, 0o600); err != nil {
		return err
	}
	for i, id := range replayed {
		t, err := recordingtest.Find(filepath.Join("testdata", "recordings"), id)
		if err != nil {
			return err
		}
		text, err := json.Marshal(t.Exchanges[len(t.Exchanges)-1])
		if err != nil {
			return err
		}
		file := fmt.Sprint("exchange", i, ".json")
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			return err
		}
		args = append(args, file)
	}
	return replay(ctx, dir, args, m)
}

func install(ctx context.Context, dir string) error {
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
}

// replay runs the script and records the readings that it prints.
func replay(ctx context.Context, dir string, args []string, m *memory) error {
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var v reading
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return errors.Join(fmt.Errorf("node printed %q: %w", lines.Text(), err), cmd.Process.Kill(), cmd.Wait())
		}
		m.add(v)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	return nil
}
