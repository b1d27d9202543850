package documents

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain changes to the repository's folder, to which all paths are relative.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// execute runs a command and returns its standard output.
func execute(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

// build compiles the program parley into a folder.
func build(t *testing.T, dir string) (program string) {
	t.Helper()
	program = filepath.Join(dir, "parley")
	execute(t, ".", nil, "go", "build", "-o", program, "./host/cmd/parley")
	return program
}

// startServe starts the gateway on a free port, until the end of the test.
func startServe(t *testing.T, home string, env, args []string) (url string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(home, "parley"), append([]string{"serve", "--listen", "127.0.0.1:0", "--json"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = home, append(os.Environ(), env...), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ URL string }
	if err := json.Unmarshal(line, &ready); err != nil || ready.URL == "" {
		t.Fatalf("serve printed %s", line)
	}
	return ready.URL
}
