package host_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/runner"
)

// neighbours are callers of a host of their own in the same process, who list, read
// and send all the time, and look at every answer.
type neighbours struct {
	mu     sync.Mutex
	rounds [3]int // of each of them, that went well
	more   *sync.Cond
}

// newNeighbours lets them call until the test ends.
func newNeighbours(t *testing.T) *neighbours {
	t.Helper()
	n := &neighbours{}
	n.more = sync.NewCond(&n.mu)
	h := alive(t, stocked(t, file(t)), everybody, func(_ context.Context, turn *runner.Turn) (string, error) { return "re: " + turn.Message, nil })
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i, round := range []func(n int) error{
		func(int) error { return expect(h, abi.ToolList, `{"limit":100}`, "count", "5") },
		func(int) error {
			return expect(h, abi.ToolHistory, `{"sessionKey":"agent:main:a"}`, "sessionKey", "agent:main:a")
		},
		func(n int) error {
			return expect(h, abi.ToolSend, fmt.Sprintf(`{"sessionKey":"agent:main:c","message":"%d","timeoutSeconds":600,"announce":"none"}`, n), "reply", fmt.Sprintf("re: %d", n))
		},
	} {
		all.Go(func() {
			for n1 := 0; ctx.Err() == nil; n1++ {
				if err := round(n1); err != nil {
					t.Errorf("a neighbour: %v", err)
					return
				}
				n.mu.Lock()
				n.rounds[i]++
				n.mu.Unlock()
				n.more.Broadcast()
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	return n
}

// expect makes a call as the operator, and looks at one member of its answer.
func expect(h *host.Host, tool, args, member, want string) error {
	answer, err := h.Call(context.Background(), &host.Call{Tool: tool, Args: []byte(args), Caller: operator})
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	if got := gjson.GetBytes(answer.Result, member).String(); got != want || answer.Code != "" {
		return fmt.Errorf("%s: %s is %q, want %q: %s", tool, member, got, want, answer.Result)
	}
	return nil
}

// meanwhile does something, until when each of them has had an answer to a call
// that was begun meanwhile.
func (n *neighbours) meanwhile(do func()) {
	n.mu.Lock()
	before := n.rounds
	n.mu.Unlock()
	do()
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.rounds {
		for n.rounds[i] < before[i]+2 {
			n.more.Wait()
		}
	}
}
