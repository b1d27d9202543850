package host_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-wasm/parley/abi/abitest"
	"github.com/parley-wasm/parley/abi/vector"
	"github.com/parley-wasm/parley/host/engine"
	"github.com/parley-wasm/parley/host/step"
	"github.com/parley-wasm/parley/plugin/wasm"
)

var update = flag.Bool("update", false, "record testdata/transcripts anew")

const (
	transcriptsDir = "../testdata/transcripts"
	maxTranscript  = 64 << 10 // a longer conversation is not recorded
)

// recordings compares the conversations of the vectors with the committed
// transcripts, or writes them.
type recordings struct {
	index   map[string]string // as committed: "" or why there is none
	reasons map[string]string // as found in this run
}

func newRecordings(t *testing.T) *recordings {
	t.Helper()
	r := &recordings{reasons: map[string]string{}}
	if *update {
		return r
	}
	var err error
	if r.index, err = abitest.LoadIndex(transcriptsDir); err != nil {
		t.Fatalf("%v; record with go test ./host -run TestVectors -update", err)
	}
	return r
}

func (r *recordings) without(id, reason string) { r.reasons[id] = reason }

// check compares or writes one vector's conversation.
func (r *recordings) check(t *testing.T, id string, records []*step.Record) {
	transcript := &abitest.Transcript{ID: id}
	for _, record := range records {
		if record.Err != nil {
			r.without(id, "the step fails in the engine")
			return
		}
		x := abitest.Exchange{Export: record.Export, Input: record.Input, Calls: []abitest.HostCall{}, Output: record.Output}
		for _, c := range record.Calls {
			x.Calls = append(x.Calls, abitest.HostCall{Family: c.Family, Request: c.Request, Reply: c.Reply})
		}
		transcript.Exchanges = append(transcript.Exchanges, x)
	}
	switch {
	case len(records) == 0:
		r.without(id, "the host refuses the call before the plugin sees it")
		return
	case transcript.Size() > maxTranscript:
		r.without(id, fmt.Sprintf("longer than %d bytes", maxTranscript))
		return
	}
	r.reasons[id] = ""
	if *update {
		if err := transcript.Save(transcriptsDir); err != nil {
			t.Error(err)
		}
		return
	}
	committed, err := abitest.LoadTranscript(filepath.Join(transcriptsDir, abitest.TranscriptFile(id)))
	if err != nil {
		t.Errorf("transcript: %v; record it with -update", err)
		return
	}
	for _, line := range transcript.Diff(committed) {
		t.Errorf("transcript: %s; if this is intended, record it with -update", line)
	}
}

// finish compares or writes the index, if every vector ran.
func (r *recordings) finish(t *testing.T, vectors []*vector.Vector) {
	if len(r.reasons) != len(vectors) {
		return // a part of the vectors was asked for
	}
	if !*update {
		for id := range r.index {
			if got, ok := r.reasons[id]; !ok || got != r.index[id] {
				t.Errorf("transcripts: %s: %q in the index, %q now; record with -update", id, r.index[id], got)
			}
		}
		for id := range r.reasons {
			if _, ok := r.index[id]; !ok {
				t.Errorf("transcripts: %s is not in the index; record with -update", id)
			}
		}
		return
	}
	all, err := abitest.LoadTranscripts(transcriptsDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range all {
		if reason, ok := r.reasons[old.ID]; !abitest.Derives(old.ID) && (!ok || reason != "") {
			if err := os.Remove(filepath.Join(transcriptsDir, abitest.TranscriptFile(old.ID))); err != nil {
				t.Error(err)
			}
		}
	}
	if err := abitest.SaveIndex(transcriptsDir, r.reasons); err != nil {
		t.Error(err)
	}
}

// TestTranscripts replays the committed transcripts on the module alone, as a
// host in another language does.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	e, err := engine.New(ctx, &engine.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	p, err := e.Load(ctx, wasm.Parley)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	abitest.ReplayAll(t, transcriptsDir, func(x *abitest.Exchange, r *abitest.Replay) ([]byte, error) {
		return p.Run(ctx, x.Export, x.Input, replayHost{r})
	})
}

type replayHost struct{ *abitest.Replay }

var _ engine.HostFunctions = replayHost{}

func (r replayHost) Call(_ context.Context, family string, request []byte) ([]byte, error) {
	return r.Replay.Call(family, request), nil
}
