package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/gateway/httpapi"
	"github.com/parley-wasm/parley/host/internal/run/command"
)

// probe is the program of a command agent. It lists sessions over MCP, tries to act as
// another session, and answers with one line for each result. Its first argument names the
// token file: probe uses the token of an earlier run if the file has one, and writes its own
// token to the file. Probe sends its requests when the file that its second argument names
// exists.
func probe() {
	if err := probeWhenReady(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func probeWhenReady(tokenFile, startFile string) error {
	own := os.Getenv(command.EnvToken)
	token, err := os.ReadFile(tokenFile)
	if os.IsNotExist(err) {
		token, err = []byte(own), nil
	}
	if err == nil {
		err = os.WriteFile(tokenFile, []byte(own), 0o600)
	}
	if err == nil {
		err = waitForFile(startFile)
	}
	if err == nil {
		err = requestAll(context.Background(), string(token), os.Stdout)
	}
	return err
}

func waitForFile(file string) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for range ticker.C {
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// requestAll sends the requests with the token and writes their results to w.
func requestAll(ctx context.Context, token string, w io.Writer) error {
	for _, name := range []string{"", "agent:ops:main"} {
		seen, err := listOverMCP(ctx, runTransport{token, name})
		if err != nil {
			seen = err.Error()
		}
		fmt.Fprintf(w, "over MCP as %q: %s\n", name, seen)
	}
	for _, try := range [][2]string{
		{"/tools/invoke", `{"tool":"sessions_list"}`},
		{"/tools/invoke", `{"tool":"sessions_list","sessionKey":"agent:ops:main"}`},
		{"/tools/invoke", `{"tool":"sessions_history","args":{"sessionKey":"agent:ops:main"}}`},
		{"/v1/chat/history", `{"sessionKey":"agent:ops:main"}`},
		{"/v1/chat/send", `{"sessionKey":"agent:ops:main","message":"it is me"}`},
		{"/v1/agent", `{"sessionKey":"agent:ops:main","message":"work for me"}`},
		{"/v1/sessions/patch", `{"key":"agent:ops:main","sendPolicy":"deny"}`},
	} {
		answer, err := runTransport{token: token}.post(ctx, try[0], try[1])
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s %s: %s\n", try[0], try[1], answer)
	}
	return nil
}

// runTransport adds a run's token to requests, and the header that selects session if it
// is not empty.
type runTransport struct{ token, session string }

func (a runTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+a.token)
	if a.session != "" {
		r.Header.Set(httpapi.HeaderSession, a.session)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// listOverMCP returns the keys of the sessions that sessions_list shows.
func listOverMCP(ctx context.Context, as runTransport) (string, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "probe", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: os.Getenv(command.EnvURL) + "/mcp", HTTPClient: &http.Client{Transport: as}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "sessions_list", Arguments: map[string]any{}})
	if err != nil {
		return "", err
	}
	var keys []string
	for _, key := range gjson.Get(result.Content[0].(*sdk.TextContent).Text, "sessions.#.key").Array() {
		keys = append(keys, key.Str)
	}
	return strings.Join(keys, " "), nil
}

// post returns the HTTP status, and the status of the tool's result if there is one.
func (a runTransport) post(ctx context.Context, path, body string) (answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv(command.EnvURL)+path, bytes.NewBufferString(body))
	if err != nil {
		return "", err
	}
	resp, err := a.RoundTrip(req)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(resp.Body)
	answer = strconv.Itoa(resp.StatusCode)
	if status := gjson.GetBytes(text, "result.details.status"); status.Exists() {
		answer += " " + status.Str
	}
	return answer, errors.Join(err, resp.Body.Close())
}
