package host_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"

	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/plugin/wasm"
)

var update = flag.Bool("update", false, "rewrite testdata/recordings")

const (
	recordingsDir = "../testdata/recordings"
	maxRecording  = 64 << 10 // longer recordings are not stored
)

// recordings compares the vectors' recordings with the committed ones, or writes them.
// All maps are by the vector's id.
type recordings struct {
	committed map[string]*recordingtest.Recording
	found     map[string]*recordingtest.Recording // in this run
	index     map[string]string                   // committed reasons why there is no recording; "": there is one
	reasons   map[string]string                   // the same in this run
}

func newRecordings(t *testing.T) *recordings {
	t.Helper()
	r := &recordings{committed: map[string]*recordingtest.Recording{}, found: map[string]*recordingtest.Recording{}, reasons: map[string]string{}}
	all, err := recordingtest.Load(recordingsDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		r.committed[one.ID] = one
	}
	if *update {
		return r
	}
	if r.index, err = recordingtest.LoadIndex(recordingsDir); err != nil {
		t.Fatalf("%v; record with go test ./host -run TestVectors -update", err)
	}
	return r
}

func (r *recordings) skip(id, reason string) { r.reasons[id] = reason }

// check adds one vector's recording and compares it, unless -update is set.
func (r *recordings) check(t *testing.T, id string, records []*step.Record) {
	found := &recordingtest.Recording{ID: id}
	for _, record := range records {
		if record.Err != nil {
			r.skip(id, "the step fails in the engine")
			return
		}
		x := recordingtest.Exchange{Export: record.Export, Input: record.Input, Calls: []recordingtest.HostCall{}, Output: record.Output}
		for _, c := range record.Calls {
			x.Calls = append(x.Calls, recordingtest.HostCall{Namespace: c.Namespace, Request: c.Request, Reply: c.Reply})
		}
		found.Exchanges = append(found.Exchanges, x)
	}
	switch {
	case len(records) == 0:
		r.skip(id, "the host refuses the call before the plugin sees it")
		return
	case found.Size() > maxRecording:
		r.skip(id, fmt.Sprintf("longer than %d bytes", maxRecording))
		return
	}
	r.reasons[id], r.found[id] = "", found
	if *update {
		return
	}
	committed, ok := r.committed[id]
	if !ok {
		t.Error("there is no recording; record it with -update")
		return
	}
	for _, line := range found.Diff(committed) {
		t.Errorf("recording: %s; if this is intended, record it with -update", line)
	}
}

// finish writes the recordings, or compares the index if every vector ran.
func (r *recordings) finish(t *testing.T, vectors []*vector.Vector) {
	complete := len(r.reasons) == len(vectors)
	switch {
	case *update:
		r.save(t, complete)
	case complete:
		r.compareIndex(t)
	}
}

// save writes the recordings and the index. If not all vectors ran, it keeps the index
// and the recordings of the vectors that did not run.
func (r *recordings) save(t *testing.T, complete bool) {
	all := slices.Collect(maps.Values(r.found))
	for id, old := range r.committed {
		if r.found[id] == nil && (recordingtest.Derives(id) || !complete) {
			all = append(all, old)
		}
	}
	if err := recordingtest.Save(recordingsDir, all); err != nil {
		t.Error(err)
	}
	if !complete {
		return
	}
	if err := recordingtest.SaveIndex(recordingsDir, r.reasons); err != nil {
		t.Error(err)
	}
}

func (r *recordings) compareIndex(t *testing.T) {
	for id := range r.index {
		if got, ok := r.reasons[id]; !ok || got != r.index[id] {
			t.Errorf("recordings: %s: %q in the index, %q now; record with -update", id, r.index[id], got)
		}
	}
	for id := range r.reasons {
		if _, ok := r.index[id]; !ok {
			t.Errorf("recordings: %s is not in the index; record with -update", id)
		}
	}
	for id := range r.committed {
		if r.found[id] == nil && !recordingtest.Derives(id) {
			t.Errorf("recordings: %s belongs to no vector; record with -update", id)
		}
	}
}

// TestRecordings replays the committed recordings on the module without a host, as a
// host in another language does.
func TestRecordings(t *testing.T) {
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
	recordingtest.ReplayAll(t, recordingsDir, func(x *recordingtest.Exchange, r *recordingtest.Replay) ([]byte, error) {
		return p.Run(ctx, x.Export, x.Input, replayHost{r})
	})
}

type replayHost struct{ *recordingtest.Replay }

var _ engine.HostFunctions = replayHost{}

func (r replayHost) Call(_ context.Context, namespace string, request []byte) ([]byte, error) {
	return r.Replay.Call(namespace, request), nil
}
