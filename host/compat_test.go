package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/plugin/wasm"
)

const compatDir = "../testdata/former"

// TestCompat opens the databases of testdata/former, which earlier versions wrote. Rows
// and tool results must be unchanged, and all open work must resume and end as under
// the version that wrote the database.
func TestCompat(t *testing.T) {
	files, err := filepath.Glob(compatDir + "/*/parley.db.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no database: %v", compatDir, err)
	}
	for _, file := range files {
		folder := filepath.Dir(file)
		earlier, err := os.ReadFile(filepath.Join(folder, "parley.wasm"))
		if err != nil {
			t.Fatal(err)
		}
		for _, with := range []struct {
			name string
			servingModule
		}{
			{"its own module", servingModule{wasm: earlier, origin: "parley.wasm"}},
			{"the current module", servingModule{wasm: wasm.Parley, rephrased: true}},
			{"another module", servingModule{wasm: withSection(wasm.Parley), rephrased: true}},
		} {
			t.Run(filepath.Base(folder)+" with "+with.name, func(t *testing.T) { continueCompat(t, folder, with.servingModule) })
		}
	}
}

// servingModule is the module that serves an earlier version's database.
type servingModule struct {
	wasm      []byte
	origin    string // empty: built in
	rephrased bool   // the module may word notes and messages differently
}

// withSection returns a module that differs from the given one only in its digest.
func withSection(module []byte) []byte {
	return append(slices.Clone(module), 0, 7, 6, 'f', 'o', 'r', 'm', 'e', 'r') // a custom section
}

// continueCompat opens a copy of a folder's database, compares it with the folder's
// other files, and completes its work.
func continueCompat(t *testing.T, folder string, with servingModule) {
	var calls []compatCall
	var reads []compatRead
	var before, end compatRows
	readCompat(t, folder, "calls.json", &calls)
	readCompat(t, folder, "reads.json", &reads)
	readCompat(t, folder, "rows.json", &before)
	readCompat(t, folder, "end.json", &end)
	file := unpackCompat(t, folder)
	synctest.Test(t, func(t *testing.T) {
		w := openCompat(t, file, time.UnixMilli(before.Now))
		compareJSON(t, "rows.json", &before, w.rows())
		w.open(with.wasm, with.origin)
		compareJSON(t, "reads.json", reads, w.read(reads))
		after, answers := w.end(&before, calls)
		w.close()
		before.compare(t, after, w.take())
		after.checkAnswers(t, answers)
		compareJSON(t, "end.json", end.outline(!with.rephrased), after.outline(!with.rephrased))
	})
}

// end performs the operator's actions, completes all work, and returns the rows and the
// answers to repeated calls, by flow.
func (w *compatFixture) end(before *compatRows, calls []compatCall) (after *compatRows, answers map[string]string) {
	w.Helper()
	if err := w.host.DropFlow(w.Context(), before.flowOfCall(w.T, parkedToDrop).ID); err != nil {
		w.Error(err)
	}
	if err := w.host.Start(w.Context()); err != nil {
		w.Fatal(err)
	}
	answers = w.repeat(before, calls)
	w.pass(archiveAfter)
	w.retry(before)
	w.pass(archiveAfter)
	w.resend(before)
	return w.rows(), answers
}

// pass advances time and executes the work that becomes due.
func (w *compatFixture) pass(d time.Duration) {
	time.Sleep(d + time.Minute)
	synctest.Wait()
}

// repeat repeats the calls of the database and returns the answers.
func (w *compatFixture) repeat(before *compatRows, calls []compatCall) map[string]string {
	w.Helper()
	answers := map[string]string{}
	for _, c := range calls {
		answer, err := w.host.Call(w.Context(), c.host())
		if err != nil {
			w.Fatalf("call %q: %v", c.ID, err)
		}
		if want := before.flowOfCall(w.T, c.ID).ID; answer.FlowID != want {
			w.Errorf("call %q is answered by flow %s, not %s", c.ID, answer.FlowID, want)
		}
		answers[answer.FlowID] = string(answer.Result)
		c.Args = []byte(`{"sessionKey":"main","message":"another"}`)
		if _, err := w.host.Call(w.Context(), c.host()); !errors.Is(err, abi.InvalidArgs) {
			w.Errorf("call %q with other arguments: %v", c.ID, err)
		}
	}
	return answers
}

// retry resumes the parked flow. If another module serves than before, the host has
// already retried the flow when that module became active.
func (w *compatFixture) retry(before *compatRows) {
	w.Helper()
	f, err := w.host.Flow(w.Context(), before.flowOfCall(w.T, parkedToRetry).ID)
	if err != nil {
		w.Fatal(err)
	}
	same := w.host.ActivePlugin().Digest == before.Activations[0].Digest
	if (f.Status == store.FlowParked) != same {
		w.Errorf("the parked flow is %s", f.Status)
	}
	if err := w.host.RetryFlow(w.Context(), f.ID); same && err != nil || !same && !errors.Is(err, abi.Conflict) {
		w.Errorf("retry of the parked flow: %v", err)
	}
}

// resend resends the deliveries that had failed before.
func (w *compatFixture) resend(before *compatRows) {
	w.Helper()
	for _, d := range before.Deliveries {
		if d.Status == store.DeliveryFailed {
			if err := w.host.ResendDelivery(w.Context(), d.ID); err != nil {
				w.Error(err)
			}
		}
	}
	synctest.Wait()
}
