package host_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/runner"
)

// Two hosts share one store. Each run and step is executed once, by either host, and
// each caller gets its answer from the host that it called.
func TestTwoHostsOnOneStore(t *testing.T) {
	t.Parallel()
	shared := dbPath(t)
	synctest.Test(t, func(t *testing.T) {
		const outside = "a message from outside"
		var mu sync.Mutex
		turns := map[string]int{} // by run
		by := map[*host.Options]int{}
		both := make(chan struct{})
		var hosts []*host.Host
		for range 2 {
			hosts = append(hosts, startHost(t, openTestDB(t, shared), openSettings, nil, func(o *host.Options) {
				o.Shared, o.Config.Runs.MainSlots = true, 1
				o.Runners = func(string) (runner.Runner, error) {
					return agentFunc(func(_ context.Context, turn *runner.Turn) (string, error) {
						mu.Lock()
						turns[turn.RunID]++
						if by[o]++; by[o] == 1 && len(by) == 2 {
							close(both)
						}
						mu.Unlock()
						if turn.Message == outside {
							<-both
						}
						return "done", nil
					}), nil
				}
			}))
		}
		// Each host has one slot for such runs, so each executes one of the two.
		held := []string{startRun(t, hosts[0], "agent:main:a", outside), startRun(t, hosts[0], "agent:main:b", outside)}
		const calls = 24
		answers := make(chan string, calls)
		for i := range calls {
			go func() {
				answer, err := hosts[i%2].Call(t.Context(), &host.Call{
					Tool: abi.ToolSend, Caller: operator,
					Args: fmt.Appendf(nil, `{"sessionKey":"agent:main:%c","message":"hello","timeoutSeconds":600,"announce":"none"}`, 'a'+i%4),
				})
				if err != nil {
					answers <- err.Error()
					return
				}
				answers <- gjson.GetBytes(answer.Result, "status").Str
			}()
		}
		for range calls {
			if got := <-answers; got != "ok" {
				t.Errorf("answered %s", got)
			}
		}
		for _, id := range held {
			awaitReply(t, hosts[1], id)
		}
		mu.Lock()
		defer mu.Unlock()
		for id, n := range turns {
			if n != 1 {
				t.Errorf("run %s was executed %d times", id, n)
			}
		}
		if want := calls + len(held); len(turns) != want || len(by) != 2 {
			t.Errorf("%d runs were executed by %d hosts, want %d by both", len(turns), len(by), want)
		}
	})
}
