package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/refhost"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/testdata/vectors"
)

// TestReferenceStoreAgrees compares the reference store, on which vectors run natively,
// with the host functions over SQLite. For every vector that stores more than one
// session, both must give equal replies to the same requests.
func TestReferenceStoreAgrees(t *testing.T) {
	t.Parallel()
	all, err := vector.Load(vectors.Files)
	if err != nil {
		t.Fatal(err)
	}
	w := &readFixture{stores: map[*vector.Contents]*sqlite.DB{}, dir: t.TempDir()}
	for _, v := range all {
		if len(v.Store.Sessions) < 2 || w.stores[v.Store] != nil {
			continue
		}
		db := w.fill(t, v.Store)
		w.stores[v.Store] = db
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		compareStores(t, v, db)
	}
}

func compareStores(t *testing.T, v *vector.Vector, db *sqlite.DB) {
	reference := refhost.NewStore(v.Store)
	runner := step.Runner{Store: db, Logger: slog.New(slog.DiscardHandler)}
	plugin := requestPlugin(func(ctx context.Context, h engine.HostFunctions) {
		for _, request := range storeRequests(v.Store) {
			got, err := h.Call(ctx, abi.ImportStore, []byte(request))
			if err != nil {
				t.Errorf("%s: %v", request, err)
			}
			want := reference.Call(abi.ImportStore, []byte(request))
			for _, line := range vector.Diff(normalizeReply(t, got), normalizeReply(t, want)) {
				t.Errorf("%s: %s: %s", v.ID, request, line)
			}
		}
	})
	if _, err := runner.Run(context.Background(), plugin, &step.Input{Export: abi.ExportCall, JSON: []byte(`{}`)}); err != nil {
		t.Errorf("%s: %v", v.ID, err)
	}
}

// requestPlugin is a plugin that only makes host calls.
type requestPlugin func(context.Context, engine.HostFunctions)

// Name implements step.Plugin.
func (requestPlugin) Name() string { return "asking 1" }

// Digest implements step.Plugin.
func (requestPlugin) Digest() string { return "asking" }

func (requestPlugin) Grants(string) error { return nil }

// Run implements step.Plugin.
func (ask requestPlugin) Run(ctx context.Context, _ string, _ []byte, h engine.HostFunctions) ([]byte, error) {
	ask(ctx, h)
	return []byte(`{"result":{}}`), nil
}

func storeRequests(c *vector.Contents) []string {
	q := []string{
		`{"op":"list","limit":0}`, `{"op":"list"}`, `{"op":"list","limit":5,"kinds":["x"]}`, `{"op":"list","limit":5,"more":1}`,
		`{"op":"history","limit":5}`, `{"op":"get"}`, `{"op":"nothing"}`, `{"op":"patch"}`, `{}`, `[]`, `{"op":"list","limit":5,"limit":5}`,
		`{"op":"list","limit":3,"maxBytes":1}`, `{"op":"list","limit":3,"messages":20,"maxBytes":1}`,
	}
	for _, scope := range []string{
		``, `"scope":{},`, `"scope":{"agents":["main"]},`, `"scope":{"agents":["*"]},`, `"scope":{"agents":["m*","o*"]},`, `"scope":{"keys":["agent:main:main"]},`,
		`"scope":{"keys":["agent:main:main"],"spawnedBy":"agent:main:main"},`, `"scope":{"agents":["ops"],"keys":["agent:main:main","agent:none:none"],"spawnedBy":"agent:main:main"},`,
		`"global":"main",`, `"global":"ops","scope":{"agents":["ops"]},`, `"global":"ops","scope":{"keys":["global"],"spawnedBy":"global"},`, `"mainKey":"home",`,
	} {
		for _, filter := range []string{
			`"limit":1000`, `"limit":3`, `"limit":5,"messages":3`, `"limit":1000,"kinds":["main"]`, `"limit":4,"kinds":["cron","other"]`, `"limit":1000,"kinds":["group","hook","node"]`,
			`"limit":9,"agentId":"main"`, `"limit":9,"agentId":"ops"`, `"limit":9,"label":"build"`, `"limit":9,"search":"REPORT"`, `"limit":9,"search":"%"`, `"limit":9,"search":"ä"`, `"limit":9,"search":"main"`,
			`"limit":1000,"includeArchived":true`, `"limit":1000,"activeSince":1770724700000`,
			`"limit":4,"after":{"updatedAt":1770724798000,"key":"agent:main:telegram:2"}`, `"limit":4,"after":{"updatedAt":1770724800000,"key":"agent:main:telegram:15"},"kinds":["other"]`,
		} {
			q = append(q, `{"op":"list",`+scope+filter+`}`)
		}
	}
	for i := range c.Sessions {
		if i >= 12 {
			break
		}
		s := &c.Sessions[i].Session
		get := abi.GetRequest{SessionKey: s.Key}
		q = append(q, string(get.AppendJSON(nil)))
		for _, scope := range []*abi.Scope{nil, {}, {Agents: []string{"main"}}, {SpawnedBy: "agent:main:main"}} {
			for _, global := range []string{"", "ops"} {
				r := abi.ResolveRequest{SessionID: s.SessionID, Scope: scope, Global: global}
				q = append(q, string(r.AppendJSON(nil)))
			}
		}
		for _, r := range []abi.HistoryRequest{
			{Limit: 1}, {Limit: 3}, {Limit: 1000}, {Limit: 2, Skip: 3}, {Limit: 5, Skip: 1, ExcludeRoles: []string{"toolResult", "tool"}},
			{Limit: 1000, ExcludeRoles: []string{"user"}}, {Limit: 5, MaxBytes: 1}, {Limit: 5, Skip: 1000000},
		} {
			r.SessionKey = s.Key
			q = append(q, string(r.AppendJSON(nil)))
		}
	}
	return append(q, `{"op":"get","sessionKey":"agent:none:none"}`, `{"op":"resolve","sessionId":"none"}`, `{"op":"history","sessionKey":"agent:none:none","limit":1}`)
}

// normalizeReply parses a reply and removes the parts in which implementations may
// differ: the positions of messages and the texts of errors.
func normalizeReply(t *testing.T, reply []byte) any {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(reply))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %.200s", err, reply)
	}
	return dropVariable(v)
}

func dropVariable(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = dropVariable(v[i])
		}
	case map[string]any:
		if _, message := v["seq"]; message {
			delete(v, "seq")
			return v
		}
		if e, ok := v["error"].(map[string]any); ok {
			return fmt.Sprint("error ", e["code"])
		}
		for name := range v {
			v[name] = dropVariable(v[name])
		}
	}
	return v
}
