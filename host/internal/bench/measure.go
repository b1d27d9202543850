package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parley-wasm/parley/host/internal/bench/gateway"
	"github.com/parley-wasm/parley/host/internal/storegen"
)

const (
	connections = 8               // of the throughput measurement
	warmUp      = 30              // requests before a row counts
	saturation  = 3 * time.Second // per throughput row
)

// question is one call, put to both stores.
type question struct {
	name string
	tool string
	args [2]string // small, big
}

func same(name, tool, args string) question { return question{name, tool, [2]string{args, args}} }

func history(key string) string { return fmt.Sprintf(`{"sessionKey": %q, "limit": 50}`, key) }

var questions = []question{
	same("sessions_list limit 50", "sessions_list", `{"limit": 50}`),
	same("sessions_list limit 50, messageLimit 5", "sessions_list", `{"limit": 50, "messageLimit": 5}`),
	same("sessions_list, 5 match the kind", "sessions_list", `{"kinds": ["cron"]}`),
	same("sessions_list, 5 match the label", "sessions_list", fmt.Sprintf(`{"label": %q, "includeArchived": true}`, storegen.RareLabel)),
	same("sessions_list, 5 match the agent", "sessions_list", fmt.Sprintf(`{"agentId": %q}`, storegen.RareAgent)),
	same("sessions_history limit 50", "sessions_history", history(storegen.MainKey)),
	{"sessions_history limit 50, longest session", "sessions_history", [2]string{history(storegen.LongKey), history(storegen.LongKey)}},
	{"sessions_history limit 50, largest session", "sessions_history", [2]string{history(storegen.LongKey), history(storegen.LargeKey)}},
	same("agents_list", "agents_list", `{}`),
}

// compare puts every question to both servers in turn.
func compare(ctx context.Context, servers [2]*gateway.Gateway, n int) error {
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "median of requests, ms\tsmall\tbig\tbig/small\trows\tKB\t")
	for _, q := range questions {
		var times [2][]time.Duration
		var rows, size [2]int
		for i := range warmUp + n {
			for k, s := range servers {
				begin := time.Now()
				body, err := s.Call(ctx, q.tool, q.args[k])
				took := time.Since(begin)
				if err != nil {
					return err
				}
				if i == 0 {
					if rows[k], err = s.Rows(ctx, q.tool, q.args[k]); err != nil {
						return err
					}
				}
				if size[k] = len(body); i >= warmUp {
					times[k] = append(times[k], took)
				}
			}
		}
		small, big := median(times[0]), median(times[1])
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%d/%d\t%d/%d\t\n",
			q.name, ms(small), ms(big), float64(big)/float64(small), rows[0], rows[1], size[0]>>10, size[1]>>10)
	}
	return w.Flush()
}

// saturate asks as fast as the connections allow.
func saturate(ctx context.Context, sizes [2]size, servers [2]*gateway.Gateway) error {
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "requests per second, %d connections\tsmall\tbig\t\n", connections)
	for _, q := range []question{questions[0], questions[5]} {
		var rates [2]float64
		for k, s := range servers {
			var done atomic.Int64
			begin := time.Now()
			g, ctx := errgroup.WithContext(ctx)
			for range connections {
				g.Go(func() error {
					for time.Since(begin) < saturation {
						if _, err := s.Call(ctx, q.tool, q.args[k]); err != nil {
							return err
						}
						done.Add(1)
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				return err
			}
			rates[k] = float64(done.Load()) / time.Since(begin).Seconds()
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t\n", q.name, rates[0], rates[1])
	}
	var mb [2]float64
	for k, s := range servers {
		var err error
		if mb[k], err = s.Resident(); err != nil {
			return fmt.Errorf("memory of the server on the %s store: %w", sizes[k].name, err)
		}
	}
	fmt.Fprintf(w, "resident memory after all that, MB\t%.0f\t%.0f\t\n", mb[0], mb[1])
	return w.Flush()
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
