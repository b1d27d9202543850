package recordingtest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
)

func TestTranscriptRoundTrip(t *testing.T) {
	dir := t.TempDir()
	saved := &recordingtest.Transcript{ID: "S2.1/limit-default", Exchanges: []recordingtest.Exchange{{
		Export: "call", Input: json.RawMessage(`{"now":1}`), Output: json.RawMessage(`{"result":{}}`),
		Calls: []recordingtest.HostCall{
			{Family: "store", Request: json.RawMessage(`{"op":"get"}`), Reply: json.RawMessage(`{"ok":{"n":1.0,"k":"\n` + "AI" + `za\\` + "s" + `k-0123456789abcdef"}}`)},
			{Family: "store", Request: json.RawMessage(`{"op":"list"}`), Reply: json.RawMessage(`{"ok":{}}`)},
		},
	}, {Export: "call", Input: json.RawMessage(`{}`), Calls: []recordingtest.HostCall{}, Output: json.RawMessage(`{}`)}}}
	if err := saved.Save(dir); err != nil {
		t.Fatal(err)
	}
	if err := recordingtest.SaveIndex(dir, map[string]string{saved.ID: "", "S0.2/x": "too long"}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, recordingtest.TranscriptFile(saved.ID))); err != nil || strings.Contains(string(text), "AI"+"za") {
		t.Errorf("%s, %v: what looks like a credential stands in the file", text, err)
	}
	all, err := recordingtest.LoadTranscripts(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("got %d transcripts, %v", len(all), err)
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

func TestReplayComparesEverything(t *testing.T) {
	x := recordingtest.Exchange{Export: "call", Output: json.RawMessage(`{"a":1}`), Calls: []recordingtest.HostCall{
		{Family: "store", Request: json.RawMessage(`{"op":"get","n":1}`), Reply: json.RawMessage(`{"ok":1}`)}}}
	type call struct{ family, request string }
	tests := []struct {
		name   string
		calls  []call
		output string
		wrong  int
	}{
		{"the same", []call{{"store", `{"n":1.0,"op":"get"}`}}, `{"a":1e0}`, 0},
		{"another request", []call{{"store", `{"op":"get","n":2}`}}, `{"a":1}`, 1},
		{"another family", []call{{"agent", `{"op":"get","n":1}`}}, `{"a":1}`, 1},
		{"another output", []call{{"store", `{"op":"get","n":1}`}}, `{"a":2}`, 1},
		{"no call", nil, `{"a":1}`, 1},
		{"one call more", []call{{"store", `{"op":"get","n":1}`}, {"store", `{}`}}, `{"a":1}`, 1},
		{"no JSON", []call{{"store", `{`}}, `x`, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := x.Replay()
			for _, c := range tt.calls {
				r.Call(c.family, []byte(c.request))
			}
			if problems := r.Finish([]byte(tt.output)); len(problems) != tt.wrong {
				t.Errorf("got %q, want %d", problems, tt.wrong)
			}
		})
	}
}
