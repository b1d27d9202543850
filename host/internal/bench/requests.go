package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/internal/storegen"
)

const (
	connections = 8               // of the throughput measurement
	warmUp      = 30              // requests before the measurement of a query
	saturation  = 3 * time.Second // duration of a throughput measurement
)

// query is a call that is sent to both gateways.
type query struct {
	name string
	tool string
	args [2]string // for the small and the big store
}

func same(name, tool, args string) query { return query{name, tool, [2]string{args, args}} }

func history(key string) string { return fmt.Sprintf(`{"sessionKey": %q, "limit": 50}`, key) }

var queries = []query{
	same("sessions_list limit 50", abi.ToolList, `{"limit": 50}`),
	same("sessions_list limit 50, messageLimit 5", abi.ToolList, `{"limit": 50, "messageLimit": 5}`),
	same("sessions_list, 5 match the kind", abi.ToolList, `{"kinds": ["cron"]}`),
	same("sessions_list, 5 match the label", abi.ToolList, fmt.Sprintf(`{"label": %q, "includeArchived": true}`, storegen.RareLabel)),
	same("sessions_list, 5 match the agent", abi.ToolList, fmt.Sprintf(`{"agentId": %q}`, storegen.RareAgent)),
	same("sessions_history limit 50", abi.ToolHistory, history(storegen.MainKey)),
	same("sessions_history limit 50, longest session", abi.ToolHistory, history(storegen.LongKey)),
	{"sessions_history limit 50, largest session", abi.ToolHistory, [2]string{history(storegen.LongKey), history(storegen.LargeKey)}},
	same("agents_list", abi.ToolAgents, `{}`),
}

// table prints the titles of columns and returns a writer that aligns the columns. The
// caller must call Flush.
func table(columns string) *tabwriter.Writer {
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, columns)
	return w
}

// compare measures every query, alternating between the gateways.
func compare(ctx context.Context, gateways [2]*e2e.Gateway, n int) error {
	w := table("median of requests, ms\tsmall\tbig\tbig/small\trows\tKB\t")
	for _, q := range queries {
		var times [2][]time.Duration
		var rows, size [2]int
		for i := range warmUp + n {
			for k, g := range gateways {
				begin := time.Now()
				body, err := g.Call(ctx, q.tool, q.args[k])
				took := time.Since(begin)
				if err != nil {
					return err
				}
				if i == 0 {
					if rows[k], err = countRows(body); err != nil {
						return err
					}
				}
				if size[k] = len(body); i >= warmUp {
					times[k] = append(times[k], took)
				}
			}
		}
		small, big := percentile(times[0], 50), percentile(times[1], 50)
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%d/%d\t%d/%d\t\n", q.name, small, big, big/small, rows[0], rows[1], size[0]>>10, size[1]>>10)
	}
	return w.Flush()
}

// countRows returns the number of sessions or messages in a reply.
func countRows(body []byte) (int, error) {
	details := gjson.GetBytes(body, "result.details")
	if details.Get("status").Exists() {
		return 0, fmt.Errorf("unexpected reply: %.400s", body)
	}
	return len(details.Get("sessions").Array()) + len(details.Get("messages").Array()), nil
}

// saturate measures the maximum throughput of the connections.
func saturate(ctx context.Context, gateways [2]*e2e.Gateway) error {
	w := table(fmt.Sprintf("requests per second, %d connections\tsmall\tbig\t", connections))
	for _, q := range []query{queries[0], queries[5]} {
		var rates [2]float64
		for k, g := range gateways {
			var answered atomic.Int64
			begin := time.Now()
			load := e2e.StartLoad(ctx, connections, func(l *e2e.Load, _, _ int) error {
				_, err := g.Call(l.Context(), q.tool, q.args[k])
				answered.Add(1)
				return err
			})
			_ = e2e.Sleep(load.Context(), saturation) // fails if a call failed; Stop returns its error
			if err := load.Stop(); err != nil {
				return err
			}
			rates[k] = float64(answered.Load()) / time.Since(begin).Seconds()
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t\n", q.name, rates[0], rates[1])
	}
	var mb [2]float64
	for k, g := range gateways {
		var err error
		if mb[k], err = g.Resident(); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "resident memory at the end, MB\t%.0f\t%.0f\t\n", mb[0], mb[1])
	return w.Flush()
}

// percentile returns a percentile of durations in milliseconds.
func percentile(all []time.Duration, percent int) float64 {
	slices.Sort(all)
	return float64(all[len(all)*percent/100]) / float64(time.Millisecond)
}
