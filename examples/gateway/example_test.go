package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/examples/gateway"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

const settings = `{
  session: { agentToAgent: { maxPingPongTurns: 0 } },
  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
  agents: { list: [{ id: "desk" }, { id: "stock" }] },
}`

func Example() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "gateway"))
	defer os.RemoveAll(dir)
	db := must(sqlite.Open(ctx, filepath.Join(dir, "gateway.db"), nil))
	defer db.Close()

	agents := map[string]runner.Runner{"desk": desk{}, "stock": &stock{answers: []string{"I have counted.", "Three."}}}
	h := must(host.New(ctx, wasm.Parley, &host.Options{
		Store: &gateway.Rooms{Durable: db, Watch: func(room, text string) { fmt.Println(room, "|", text) }},
		Runners: func(id string) (runner.Runner, error) {
			if a, ok := agents[id]; ok {
				return a, nil
			}
			return nil, fmt.Errorf("agent %q has no runner", id)
		},
		Config: must(config.Parse("settings", []byte(settings))),
	}))
	defer h.Close(ctx)
	if err := h.Start(ctx); err != nil {
		panic(err)
	}
	server := httptest.NewServer(gateway.Service(h))
	defer server.Close()

	fmt.Println(post(server.URL+"/rooms/agent:stock:main", "Count the lamps."))
	fmt.Println(post(server.URL+"/rooms/agent:desk:main", "How many lamps are there?"))
	fmt.Println(post(server.URL+"/tools/agents_list", `{}`))
	fmt.Println(post(server.URL+"/tools/sessions_read", `{}`))
	// Unordered output:
	// agent:stock:main | Count the lamps.
	// agent:stock:main | I have counted.
	// I have counted.
	// agent:desk:main | How many lamps are there?
	// agent:stock:main | How many lamps are there?
	// agent:stock:main | Three.
	// agent:desk:main | The stock says: Three.
	// The stock says: Three.
	// {"requester":"desk","allowAny":true,"agents":[{"id":"desk"},{"id":"stock"}]}
	// host: there is no tool "sessions_read"
}

// stock is an agent that gives its answers in order.
type stock struct {
	mu      sync.Mutex
	answers []string
}

func (s *stock) Run(context.Context, *runner.Turn) (*runner.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.answers[0]
	s.answers = s.answers[1:]
	return &runner.Outcome{Text: text}, nil
}

// desk is an agent that passes each message to the agent stock.
type desk struct{}

func (desk) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	args, err := json.Marshal(map[string]string{"sessionKey": "agent:stock:main", "message": t.Message, "announce": "none"})
	if err != nil {
		return nil, err
	}
	answer, err := t.Tools.Call(ctx, abi.ToolSend, args)
	if err != nil {
		return nil, err
	}
	return &runner.Outcome{Text: "The stock says: " + gjson.GetBytes(answer.Result, "reply").Str}, nil
}

func post(url, body string) string {
	response := must(http.Post(url, "text/plain", strings.NewReader(body)))
	defer response.Body.Close()
	return string(must(io.ReadAll(response.Body)))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
