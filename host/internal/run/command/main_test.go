package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/parley-wasm/parley/host/internal/run/command"
	"github.com/parley-wasm/parley/host/runner/runnertest"
)

// TestMain makes the test binary usable as the supervisor, as an agent's program, and
// as a host that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "runner-exec":
			os.Exit(command.Supervise(os.Args[2:]))
		case "agent":
			os.Exit(program(os.Args[2:]))
		case "host":
			os.Exit(host(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// program is an agent's program. Its arguments are the answer, an error, a tool, the
// tool's arguments, and a URL to call before it hangs.
func program(args []string) int {
	text, failure, tool, toolArgs, hang := args[0], args[1], args[2], args[3], args[4]
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil || !strings.HasSuffix(string(prompt), "hello\n") {
		fmt.Fprintf(os.Stderr, "unexpected prompt %q, %v", prompt, err)
		return 1
	}
	if failure != "" {
		fmt.Fprintln(os.Stderr, failure)
		return 1
	}
	if hang != "" {
		_, _ = http.Get(fmt.Sprintf("%s/%d", hang, os.Getpid()))
		select {}
	}
	if url := os.Getenv(command.EnvURL); tool != "" && url != "" {
		result, err := post(url+"/"+tool, toolArgs)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		text = strings.ReplaceAll(text, "{{result}}", result)
	}
	fmt.Println(text)
	return 0
}

func post(url, body string) (string, error) {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv(command.EnvToken))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	return string(answer), err
}

// host executes one turn of a program and prints the record of its process.
func host(argv []string) int {
	a, err := command.New(&command.Options{Argv: argv, Grace: 20 * time.Millisecond, Env: map[string]string{"GORACE": noExitDelay}})
	if err == nil {
		s := runnertest.NewSession()
		s.OnLeave = func(_ context.Context, left any) error {
			return json.NewEncoder(os.Stdout).Encode(left)
		}
		_, err = a.Run(context.Background(), s.Turn("hello"))
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}
