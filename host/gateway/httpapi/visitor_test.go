package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/run/command"
)

// TestMain lets this executable be the supervisor of command agents, and the
// program of one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "runner-exec":
			os.Exit(command.Supervise(os.Args[2:]))
		case "visitor":
			os.Exit(visitor())
		}
	}
	os.Exit(m.Run())
}

// tries are what a visitor calls to see more than it may.
var tries = [][2]string{
	{abi.ToolList, `{}`},
	{abi.ToolHistory, `{"sessionKey":"agent:ops:main"}`},
	{abi.ToolSend, `{"sessionKey":"agent:ops:main","message":"let me out","timeoutSeconds":0,"announce":"none"}`},
}

// visitor is an agent that is a program of its own. It says whether it is to keep
// to a sandbox, and what it gets to see over HTTP and over MCP, a line each.
func visitor() int {
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Printf("sandboxed %q\n", os.Getenv(command.EnvSandboxed))
	url, who := os.Getenv(command.EnvURL), bearer(os.Getenv(command.EnvToken))
	for _, way := range []struct {
		name string
		call func(url string, who bearer, tool, args string) (string, error)
	}{{"http", overHTTP}, {"mcp", overMCP}} {
		for _, try := range tries {
			answer, err := way.call(url, who, try[0], try[1])
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			fmt.Println(way.name, try[0], answer)
		}
	}
	return 0
}

// overHTTP calls a tool and returns how that ends, as seen does.
func overHTTP(url string, who bearer, tool, args string) (string, error) {
	body := bytes.NewBufferString(`{"tool":"` + tool + `","args":` + args + `}`)
	r, err := http.NewRequest(http.MethodPost, url+"/tools/invoke", body)
	if err != nil {
		return "", err
	}
	resp, err := who.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return seen(gjson.GetBytes(text, "result.details")), err
}

// overMCP does the same over MCP.
func overMCP(url string, who bearer, tool, args string) (string, error) {
	ctx := context.Background()
	client := sdk.NewClient(&sdk.Implementation{Name: "visitor", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: who}, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		return "", err
	}
	return seen(gjson.Parse(result.Content[0].(*sdk.TextContent).Text)), nil
}

// seen is what a tool's result shows: the keys that are listed, else its failure or
// status.
func seen(result gjson.Result) string {
	if failure := result.Get("error").Str; failure != "" {
		return result.Get("status").Str + ": " + failure
	}
	if !result.Get("sessions").Exists() {
		return result.Get("status").Str
	}
	keys := []string{}
	for _, key := range result.Get("sessions.#.key").Array() {
		keys = append(keys, key.Str)
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}
