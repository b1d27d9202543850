package tool_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/abi/schema"
	"github.com/parley-wasm/parley/plugin/tool"
)

const derived = "../../testdata/recordings/derive.json"

// TestDerive replays the recordings of derive, which are written by hand.
func TestDerive(t *testing.T) {
	recordingtest.ReplayAll(t, derived, func(x *recordingtest.Exchange, _ *recordingtest.Replay) ([]byte, error) {
		return tool.Derive(x.Input), nil
	})
}

// A stored session may have members of a later version. The plugin refuses them in a
// request, so a host sends only the members of version 1.
func TestDeriveOfLaterMembers(t *testing.T) {
	const row = `{"key":"agent:main:main","agentId":"main","sessionId":"s","updatedAt":1,"addedLater":true}`
	const refusal = `{"error":{"code":"invalid_args","message":"the input is malformed: session has an unknown member \"addedLater\""}}`
	if got := tool.Derive([]byte(`{"abi":1,"session":` + row + `}`)); string(got) != refusal {
		t.Errorf("the unmodified row: %s", got)
	}
	var q abi.DeriveRequest
	if p := q.Session.ReadJSON(gjson.Parse(row), jsonobject.Tolerant); p != nil || q.Session.SessionID != "s" {
		t.Fatalf("got %+v, %v", q.Session, p)
	}
	if got := tool.Derive(q.AppendJSON(nil)); !bytes.HasPrefix(got, []byte(`{"result":{"agentId":"main",`)) {
		t.Errorf("the members of version 1: %s", got)
	}
}

// For every input, the output is a session context or an error.
func FuzzDerive(f *testing.F) {
	all, err := recordingtest.Load(derived)
	if err != nil {
		f.Fatal(err)
	}
	for _, one := range all {
		for _, x := range one.Exchanges {
			f.Add([]byte(x.Input))
		}
	}
	messages, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.Messages))
	if err != nil {
		f.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("messages.json", messages); err != nil {
		f.Fatal(err)
	}
	answer := c.MustCompile("messages.json#/$defs/facts")
	f.Fuzz(func(t *testing.T, input []byte) {
		output := tool.Derive(input)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(output))
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Validate(v); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	})
}
