package vector_test

import (
	"testing"
	"testing/fstest"

	"github.com/parley-wasm/parley/abi/conformance/vector"
)

func TestSelect(t *testing.T) {
	const session = `"store":{"sessions":[{"key":"agent:a:b","sessionId":"i","updatedAt":1}]},"call":{"tool":"t"},"expect":{"match":{}}}`
	dir := fstest.MapFS{"x.json": {Data: []byte(`[
		{"id":"S1/a","spec":["S1"],"about":"a.",` + session + `,
		{"id":"S1/b","spec":["S1"],"about":"b.","sameAs":"S1/c",` + session + `,
		{"id":"S1/c","spec":["S1"],"about":"c.",` + session + `,
		{"id":"S1/d","spec":["S1"],"about":"d.","store":"nowhere","call":{"tool":"t"},"expect":{"match":{}}}]`)}}
	asked := 0
	got, err := vector.Select(dir, func(v *vector.Vector) bool {
		if asked++; v.Store != nil || len(v.Steps) != 1 {
			t.Errorf("wanted was called with %+v", v)
		}
		return v.ID == "S1/b"
	})
	if err != nil || asked != 4 || len(got) != 2 || got[0].ID != "S1/b" || got[1].ID != "S1/c" {
		t.Fatalf("got %+v of %d, %v", got, asked, err)
	}
	for _, v := range got {
		if v.Store == nil || len(v.Store.Sessions) != 1 {
			t.Errorf("%s stores %+v", v.ID, v.Store)
		}
	}
	if _, err := vector.Load(dir); err == nil {
		t.Error("a store that does not exist was accepted")
	}
}
