package host_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
)

// compatRows are the rows of flows, runs, deliveries, sessions and modules in a database.
type compatRows struct {
	Now         int64               `json:"now,omitempty"` // time of reading
	Flows       []*store.Flow       `json:"flows"`
	Runs        []*store.Run        `json:"runs"`
	Deliveries  []*store.Delivery   `json:"deliveries"`
	Messages    map[string]string   `json:"messages"` // roles of each run's messages
	Children    map[string]string   `json:"children"` // status of the created sessions
	Sessions    []json.RawMessage   `json:"sessions,omitempty"`
	Modules     []*store.Module     `json:"modules,omitempty"`
	Activations []*store.Activation `json:"activations,omitempty"`
	States      []store.StateCount  `json:"states,omitempty"`
}

// flowOfCall returns the flow of a call.
func (r *compatRows) flowOfCall(t *testing.T, id string) *store.Flow {
	t.Helper()
	f := find(r.Flows, id, func(f *store.Flow) string { return f.Call.ID })
	if f == nil {
		t.Fatalf("no flow has the call id %q", id)
	}
	return f
}

func find[T any](rows []*T, id string, of func(*T) string) *T {
	if i := slices.IndexFunc(rows, func(row *T) bool { return of(row) == id }); i >= 0 {
		return rows[i]
	}
	return nil
}

func idOfFlow(f *store.Flow) string         { return f.ID }
func idOfRun(r *store.Run) string           { return r.ID }
func idOfDelivery(d *store.Delivery) string { return d.ID }

// compare checks that all open work has ended exactly once and that other rows are
// unchanged. posts are the messages that the sink has received since r was read.
func (r *compatRows) compare(t *testing.T, after *compatRows, posts []sink.Message) {
	t.Helper()
	for _, f := range r.Flows {
		now := find(after.Flows, f.ID, idOfFlow)
		if now == nil || !now.Ended() || f.Ended() && now.UpdatedAt != f.UpdatedAt {
			t.Errorf("flow %s was %s and is %+v", f.ID, f.Status, now)
		}
	}
	for _, run := range r.Runs {
		now, attempts := find(after.Runs, run.ID, idOfRun), run.Attempt
		if !run.Ended() {
			attempts++
		}
		if now == nil || !now.Ended() || now.Attempt != attempts || run.Ended() && now.EndedAt != run.EndedAt {
			t.Errorf("run %s was %s and is %+v; want %d attempts", run.ID, run.Status, now, attempts)
		}
	}
	times := map[string]int{}
	for _, m := range posts {
		times[m.IdempotencyKey]++
	}
	for _, d := range after.Deliveries {
		was, want := find(r.Deliveries, d.ID, idOfDelivery), 0
		if d.Status == store.DeliveryDelivered && (was == nil || was.Status != store.DeliveryDelivered) {
			want = 1
		}
		if times[d.ID] != want || !d.Ended() {
			t.Errorf("delivery %s is %s and was posted %d times, want %d", d.ID, d.Status, times[d.ID], want)
		}
	}
}

// checkAnswers checks that repeated calls got the answers of their flows.
func (r *compatRows) checkAnswers(t *testing.T, answers map[string]string) {
	t.Helper()
	for id, answer := range answers {
		if f := find(r.Flows, id, idOfFlow); f == nil || string(f.Answer) != answer {
			t.Errorf("a repeated call was answered %s; its flow is %+v", answer, f)
		}
	}
}

// outline returns the rows without times, ordered by id. Without words, it also omits
// the texts that a plugin has worded.
func (r *compatRows) outline(words bool) *compatRows {
	o := &compatRows{Messages: r.Messages, Children: r.Children}
	for _, f := range r.Flows {
		n := *f
		n.Plugin, n.Module = "", "" // depend on the module that executed the last step
		n.AcceptedAt, n.AnsweredAt, n.UpdatedAt, n.EndedAt = 0, 0, 0, 0
		if n.Status == store.FlowDropped { // parked before, or retried by another module
			n.Step, n.Failures, n.Error = 0, 0, ""
		}
		if !words {
			n.Note = ""
		}
		o.Flows = append(o.Flows, &n)
	}
	for _, run := range r.Runs {
		n := *run
		n.QueuedAt, n.StartedAt, n.EndedAt, n.Seq = 0, 0, 0, 0
		if !words {
			n.Message, n.Context = "", ""
		}
		o.Runs = append(o.Runs, &n)
	}
	for _, d := range r.Deliveries {
		n := *d
		n.CreatedAt, n.UpdatedAt, n.EndedAt = 0, 0, 0
		if !words {
			n.Text = ""
		}
		o.Deliveries = append(o.Deliveries, &n)
	}
	slices.SortFunc(o.Flows, func(a, b *store.Flow) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(o.Runs, func(a, b *store.Run) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(o.Deliveries, func(a, b *store.Delivery) int { return cmp.Compare(a.ID, b.ID) })
	return o
}

// encode encodes a value in the format of the files in testdata/former.
func encode(t *testing.T, v any) []byte {
	t.Helper()
	var doc bytes.Buffer
	e := json.NewEncoder(&doc)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return doc.Bytes()
}

// readCompat reads a file of testdata/former into v. Unknown members are errors.
func readCompat(t *testing.T, folder, name string, v any) {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(folder, name))
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(doc))
		d.DisallowUnknownFields()
		err = d.Decode(v)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// compareJSON compares a current value with a file of testdata/former.
func compareJSON(t *testing.T, name string, earlier, now any) {
	t.Helper()
	if want, got := string(encode(t, earlier)), string(encode(t, now)); want != got {
		t.Errorf("%s differs (-earlier +now):\n%s", name, gocmp.Diff(want, got))
	}
}

// unpackCompat returns the path of a copy of an earlier version's database.
func unpackCompat(t *testing.T, folder string) string {
	t.Helper()
	packed, err := os.Open(filepath.Join(folder, "parley.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	in, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	path := dbPath(t)
	if err := os.WriteFile(path, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
