package schema

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compile(t *testing.T, name string, doc []byte) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var schema *jsonschema.Schema
	for _, draft := range []*jsonschema.Draft{jsonschema.Draft7, jsonschema.Draft2020} {
		c := jsonschema.NewCompiler()
		c.DefaultDraft(draft)
		if err := c.AddResource(name, parsed); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if schema, err = c.Compile(name); err != nil {
			t.Fatalf("%s: draft %v: %v", name, draft, err)
		}
	}
	return schema
}

func TestSchemas(t *testing.T) {
	const row = `{"key":"main","kind":"main","channel":"unknown","agentId":"main","updatedAt":1,"sessionId":"s"}`
	const failure = `{"status":"error","error":"x"}`
	const sent = `"sessionKey":"main","delivery":{"message":"answered","announce":"skipped"}`
	tests := []struct {
		name    string
		schema  []byte
		valid   []string
		invalid []string
	}{
		{"S2.1", ListInput,
			[]string{`{}`, `{"limit":9999,"kinds":["bot"],"activeMinutes":0.5,"includeArchived":true,"cursor":"x","label":"x","agentId":"x","search":"x","messageLimit":-1}`},
			[]string{`[]`, `{"Limit":1}`, `{"limit":"1"}`, `{"kinds":"main"}`, `{"includeArchived":"yes"}`}},
		{"S2.3", ListOutput,
			[]string{`{"count":0,"sessions":[]}`, `{"count":1,"sessions":[` + row + `],"nextCursor":"x"}`, failure, `{"status":"forbidden","error":"x"}`},
			[]string{`{}`, `{"count":0}`, `{"count":1,"sessions":[{"key":"main"}]}`, `{"status":"ok","error":"x"}`}},
		{"S3.1", HistoryInput,
			[]string{`{"sessionKey":"main"}`, `{"sessionKey":"main","limit":0,"offset":-1,"includeTools":false}`},
			[]string{`{}`, `{"sessionKey":1}`, `{"sessionKey":"main","x":1}`}},
		{"S3.3", HistoryOutput,
			[]string{`{"sessionKey":"main","messages":[{"role":"user"}],"truncated":false,"droppedMessages":false,"contentTruncated":false,"contentRedacted":false,"bytes":17,"hasMore":false}`, failure},
			[]string{`{"sessionKey":"main","messages":[]}`, `{"status":"error"}`}},
		{"S4.1", SendInput,
			[]string{`{"message":"x"}`, `{"sessionKey":"main","message":"","timeoutSeconds":-1,"announce":"x"}`, `{"label":"x","agentId":"y","message":"x"}`},
			[]string{`{}`, `{"message":1}`, `{"message":"x","timeoutSeconds":"1"}`, `{"message":"x","timeout":1}`}},
		{"S4.3", SendOutput,
			[]string{`{"runId":"r","status":"accepted",` + sent + `}`, `{"runId":"r","status":"ok","reply":"",` + sent + `}`, `{"runId":"r","status":"timeout","error":"x",` + sent + `}`,
				`{"runId":"r","status":"error","error":"x",` + sent + `}`, failure, `{"status":"forbidden","error":"x"}`},
			[]string{`{"runId":"r","status":"ok",` + sent + `}`, `{"runId":"r","status":"accepted","reply":"x",` + sent + `}`, `{"status":"timeout","error":"x"}`,
				`{"runId":"r","status":"forbidden","error":"x",` + sent + `}`, `{"runId":"r","status":"accepted","sessionKey":"main"}`}},
		{"S6", AgentsInput, []string{`{}`}, []string{`{"agentId":"x"}`}},
		{"S6", AgentsOutput,
			[]string{`{"requester":"main","allowAny":false,"agents":[{"id":"main"},{"id":"ops","name":"Ops"}]}`, failure},
			[]string{`{"requester":"main"}`, `{"requester":"main","allowAny":false,"agents":["main"]}`}},
	}
	for _, tt := range tests {
		s := compile(t, tt.name, tt.schema)
		check := func(doc string, want bool) {
			t.Helper()
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(doc)))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(v); (err == nil) != want {
				t.Errorf("%s: %s: valid = %v, want %v: %v", tt.name, doc, err == nil, want, err)
			}
		}
		for _, doc := range tt.valid {
			check(doc, true)
		}
		for _, doc := range tt.invalid {
			check(doc, false)
		}
	}
}
