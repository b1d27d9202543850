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

// TestMain also makes this executable the supervisor of command agents, and the program
// of such an agent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "runner-exec":
			os.Exit(command.Supervise(os.Args[2:]))
		case "probe":
			os.Exit(probe())
		}
	}
	os.Exit(m.Run())
}

// probeCalls are tool calls with which a sandboxed caller tries to leave its sandbox.
var probeCalls = [][2]string{
	{abi.ToolList, `{}`},
	{abi.ToolHistory, `{"sessionKey":"agent:ops:main"}`},
	{abi.ToolSend, `{"sessionKey":"agent:ops:main","message":"let me out","timeoutSeconds":0,"announce":"none"}`},
}

// probe is the program of a command agent. It prints whether its environment says that it
// is sandboxed, and a line with the result of each of probeCalls over HTTP and over MCP.
func probe() int {
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Printf("sandboxed %q\n", os.Getenv(command.EnvSandboxed))
	url, credentials := os.Getenv(command.EnvURL), bearer(os.Getenv(command.EnvToken))
	for _, transport := range []struct {
		name string
		call func(url string, credentials bearer, tool, args string) (string, error)
	}{{"http", overHTTP}, {"mcp", overMCP}} {
		for _, c := range probeCalls {
			answer, err := transport.call(url, credentials, c[0], c[1])
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			fmt.Println(transport.name, c[0], answer)
		}
	}
	return 0
}

// overHTTP calls a tool over HTTP and returns the summary of its result.
func overHTTP(url string, credentials bearer, tool, args string) (string, error) {
	body := bytes.NewBufferString(`{"tool":"` + tool + `","args":` + args + `}`)
	r, err := http.NewRequest(http.MethodPost, url+"/tools/invoke", body)
	if err != nil {
		return "", err
	}
	resp, err := credentials.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return summary(gjson.GetBytes(text, "result.details")), err
}

// overMCP calls a tool over MCP and returns the summary of its result.
func overMCP(url string, credentials bearer, tool, args string) (string, error) {
	ctx := context.Background()
	client := sdk.NewClient(&sdk.Implementation{Name: "probe", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: credentials}, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		return "", err
	}
	return summary(gjson.Parse(result.Content[0].(*sdk.TextContent).Text)), nil
}

// summary returns the session keys that a tool's result lists, else its status and error.
func summary(result gjson.Result) string {
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
