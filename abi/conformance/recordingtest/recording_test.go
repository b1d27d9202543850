package recordingtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
)

func TestRecordingRoundTrip(t *testing.T) {
	dir := t.TempDir()
	saved := &recordingtest.Recording{ID: "S2.1/limit-default", Exchanges: []recordingtest.Exchange{{
		Export: "call", Input: json.RawMessage(`{"now":1}`), Output: json.RawMessage(`{"result":{}}`),
		Calls: []recordingtest.HostCall{
			{Namespace: "store", Request: json.RawMessage(`{"op":"get"}`), Reply: json.RawMessage(`{"ok":{"n":1.0,"k":"\n` + "AI" + `za\\` + "s" + `k-0123456789abcdef"}}`)},
			{Namespace: "store", Request: json.RawMessage(`{"op":"list"}`), Reply: json.RawMessage(`{"ok":{}}`)},
		},
	}, {Export: "call", Input: json.RawMessage(`{}`), Calls: []recordingtest.HostCall{}, Output: json.RawMessage(`{}`)}}}
	if err := recordingtest.Save(dir, []*recordingtest.Recording{saved}); err != nil {
		t.Fatal(err)
	}
	if err := recordingtest.SaveIndex(dir, map[string]string{saved.ID: "", "S0.2/x": "too long"}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "S2.1.json")); err != nil || strings.Contains(string(text), "AI"+"za") {
		t.Errorf("%s, %v: the file contains a text that looks like a credential", text, err)
	}
	all, err := recordingtest.Load(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("got %d recordings, %v", len(all), err)
	}
	for _, line := range all[0].Diff(saved) {
		t.Error(line)
	}
	index, err := recordingtest.LoadIndex(dir)
	if err != nil || index["S0.2/x"] != "too long" || len(index) != 2 {
		t.Errorf("got index %v, %v", index, err)
	}
	all[0].Exchanges[0].Calls[1].Request = json.RawMessage(`{"op":"history"}`)
	if lines := all[0].Diff(saved); len(lines) != 1 || !strings.HasPrefix(lines[0], "/exchanges/0/calls/1/request/op: ") {
		t.Errorf("got %q", lines)
	}
}

// TestFiles checks that each section has one file, or four if it is large, and that the
// split depends on the ids alone.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	long := json.RawMessage(`"` + strings.Repeat("x", 100<<10) + `"`)
	one := func(id string) *recordingtest.Recording {
		return &recordingtest.Recording{ID: id, Exchanges: []recordingtest.Exchange{{Export: "call", Input: long, Calls: []recordingtest.HostCall{}, Output: json.RawMessage(`{}`)}}}
	}
	all := []*recordingtest.Recording{
		one("S1.2/zero"), one("S1.1/b"), one("S1.1/a"), one("S1.2/9-lives"),
		one("S1.2/end"), one("S1.2/f"), one("S1.2/mill"), {ID: "S1.2/nil"}, one("S1.2/sum"),
	}
	want := map[string][]string{
		"S1.1.json": {"S1.1/a", "S1.1/b"}, "S1.2.a-e.json": {"S1.2/9-lives", "S1.2/end"}, "S1.2.f-m.json": {"S1.2/f", "S1.2/mill"},
		"S1.2.n-r.json": {"S1.2/nil"}, "S1.2.s-z.json": {"S1.2/sum", "S1.2/zero"},
	}
	if err := recordingtest.Save(dir, all); err != nil {
		t.Fatal(err)
	}
	if got := idsByFile(t, dir); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
	found, err := recordingtest.Find(dir, "S1.2/mill")
	if err != nil || len(found.Diff(all[6])) != 0 {
		t.Errorf("S1.2/mill: the recording differs, or %v", err)
	}
	if _, err := recordingtest.Find(dir, "S1.2/mil"); err == nil {
		t.Error("Find returned a recording that does not exist")
	}
	if err := recordingtest.Save(dir, all[:2]); err != nil {
		t.Fatal(err)
	}
	want = map[string][]string{"S1.1.json": {"S1.1/b"}, "S1.2.json": {"S1.2/zero"}}
	if got := idsByFile(t, dir); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("after saving fewer: got %v, want %v", got, want)
	}
	if err := os.Link(filepath.Join(dir, "S1.1.json"), filepath.Join(dir, "again.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := recordingtest.Load(dir); err == nil {
		t.Error("two recordings with the same id were loaded")
	}
}

func idsByFile(t *testing.T, dir string) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string][]string{}
	for _, path := range paths {
		all, err := recordingtest.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			ids[filepath.Base(path)] = append(ids[filepath.Base(path)], one.ID)
		}
	}
	return ids
}

// TestCommittedFiles checks that the committed files, including those written by hand,
// have the form that Save writes, so that a new recording changes only the documents that
// differ.
func TestCommittedFiles(t *testing.T) {
	committed, dir := "../../../testdata/recordings", t.TempDir()
	all, err := recordingtest.Load(committed)
	if err != nil {
		t.Fatal(err)
	}
	if err := recordingtest.Save(dir, all); err != nil {
		t.Fatal(err)
	}
	if got, want := idsByFile(t, dir), idsByFile(t, committed); !maps.EqualFunc(got, want, slices.Equal) {
		t.Fatalf("files: got %v, want %v", got, want)
	}
	for file := range idsByFile(t, dir) {
		got, err1 := os.ReadFile(filepath.Join(dir, file))
		want, err2 := os.ReadFile(filepath.Join(committed, file))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s does not have the form that Save writes", file)
		}
	}
}

func TestReplay(t *testing.T) {
	x := recordingtest.Exchange{Export: "call", Output: json.RawMessage(`{"a":1}`), Calls: []recordingtest.HostCall{
		{Namespace: "store", Request: json.RawMessage(`{"op":"get","n":1}`), Reply: json.RawMessage(`{"ok":1}`)}}}
	type call struct{ namespace, request string }
	tests := []struct {
		name   string
		calls  []call
		output string
		wrong  int
	}{
		{"the same", []call{{"store", `{"n":1.0,"op":"get"}`}}, `{"a":1e0}`, 0},
		{"another request", []call{{"store", `{"op":"get","n":2}`}}, `{"a":1}`, 1},
		{"another namespace", []call{{"agent", `{"op":"get","n":1}`}}, `{"a":1}`, 1},
		{"another output", []call{{"store", `{"op":"get","n":1}`}}, `{"a":2}`, 1},
		{"no call", nil, `{"a":1}`, 1},
		{"one call more", []call{{"store", `{"op":"get","n":1}`}, {"store", `{}`}}, `{"a":1}`, 1},
		{"no JSON", []call{{"store", `{`}}, `x`, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := x.Replay()
			for _, c := range tt.calls {
				r.Call(c.namespace, []byte(c.request))
			}
			if problems := r.Finish([]byte(tt.output)); len(problems) != tt.wrong {
				t.Errorf("got %q, want %d", problems, tt.wrong)
			}
		})
	}
}
