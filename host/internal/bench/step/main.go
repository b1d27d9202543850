// Command step measures what a step costs on each way into the plugin: its code as
// plain Go, the engine's direct way, the engine over the Extism environment, and
// the official Extism SDK for Go. All have the same recorded inputs and replies of
// host functions, and the same module, and each is checked against the record
// before it is measured.
//
//	go -C host/internal/bench/step run . [-rounds N]
//
// The engine gives each step an instance as it was after its start, and bounds it
// by fuel and time. The SDK, as programs use it, keeps one instance for all steps,
// puts nothing back and bounds nothing: what it saves by that is in its numbers.
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

// steps are what is measured. Those with a recording take its last step.
var steps = []*step{
	{
		// The least that a plugin can be asked: an input without a version, which it
		// refuses at once.
		name: "no-op (an input that is refused at once)", aim: aimSDK,
		exchange: &recordingtest.Exchange{
			Export: abi.ExportCall, Input: []byte(`{}`),
			Output: []byte(`{"error":{"code":"unsupported","message":"the host speaks another ABI version; this plugin speaks version 1"}}`),
		},
	},
	{name: "sessions_list, 50 rows", aim: aimNative, recording: "S2.3/fifty-rows"},
	{name: "sessions_history, 50 messages", aim: aimNative, recording: "S3.1/fifty-messages"},
	{name: "a host call with a reply of 10 KB", recording: "S3.1/ten-kilobytes"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rounds := flag.Int("rounds", 40, "how often each way is measured, in turns; at least 1")
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
	ways, shut, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut()) }()
	for _, s := range steps {
		for i := range ways {
			if err := check(ctx, &ways[i], s); err != nil {
				return err
			}
		}
		costs, err := measure(ctx, ways, s, rounds)
		if err != nil {
			return err
		}
		if err := print(os.Stdout, ways, s, costs); err != nil {
			return err
		}
	}
	return nil
}
