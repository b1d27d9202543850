// Command step measures the cost of a step in four variants: the plugin's code as native
// Go, the engine with direct memory, the engine with kernel calls, and the official Extism
// SDK for Go. All variants use the same recorded inputs and replies of host functions, and
// all but native Go the same module. Each variant is checked against the recording before
// it is measured.
//
//	go -C host/internal/bench/step run . [-rounds N]
//
// The engine resets the instance before each step, and limits the step's fuel and time.
// The SDK, as programs use it, runs all steps in one instance without a reset and without
// limits. Its numbers include this advantage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
)

const recordings = "testdata/recordings"

// steps are the measured steps. A step with a recording replays the recording's last exchange.
var steps = []*step{
	{
		// This is the smallest request: the plugin rejects an input without a version
		// immediately.
		name: "no-op (an input that is rejected immediately)", target: targetSDK,
		exchange: &recordingtest.Exchange{
			Export: abi.ExportCall, Input: []byte(`{}`),
			Output: []byte(`{"error":{"code":"unsupported","message":"the host speaks another ABI version; this plugin speaks version 1"}}`),
		},
	},
	{name: "sessions_list, 50 rows", target: targetNative, recording: "S2.3/fifty-rows"},
	{name: "sessions_history, 50 messages", target: targetNative, recording: "S3.1/fifty-messages"},
	{name: "a host call with a reply of 10 KB", recording: "S3.1/ten-kilobytes"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rounds := flag.Int("rounds", 40, "number of measurements of each variant, at least 1")
	root := flag.String("root", "../../../..", "the repository")
	flag.Parse()
	if *rounds < 1 {
		fmt.Fprintln(os.Stderr, "step: -rounds must be at least 1")
		os.Exit(2)
	}
	if err := run(ctx, *root, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "step:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, rounds int) (err error) {
	for _, s := range steps {
		if s.exchange != nil {
			continue
		}
		t, err := recordingtest.Find(filepath.Join(root, recordings), s.recording)
		if err != nil {
			return err
		}
		s.exchange = &t.Exchanges[len(t.Exchanges)-1]
	}
	variants, closeAll, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	for _, s := range steps {
		for i := range variants {
			if err := check(ctx, &variants[i], s); err != nil {
				return err
			}
		}
		costs, err := measure(ctx, variants, s, rounds)
		if err != nil {
			return err
		}
		if err := print(os.Stdout, variants, s, costs); err != nil {
			return err
		}
	}
	return nil
}
