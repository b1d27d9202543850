package render_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/plugin/internal/render"
)

// TestSize compares Size with the indentation of encoding/json.
func TestSize(t *testing.T) {
	for _, doc := range []string{
		`{}`, `[]`, `""`, `1`, `{"a":1}`, `[1,2,3]`, `{"a":{},"b":[],"c":[{}]}`,
		`{"text":"braces { [ , : ] } and \" quotes \\","n":[[["deep"]],-1.5e3,true,null]}`,
		`[` + strings.Repeat("0,", 500) + `0]`,
	} {
		var whole, line bytes.Buffer
		if err := json.Indent(&whole, []byte(`{"rows":[`+doc+`]}`), "", "  "); err != nil {
			t.Fatal(err)
		}
		if err := json.Indent(&line, []byte(`{"rows":[0]}`), "", "  "); err != nil {
			t.Fatal(err)
		}
		// The row 0 is rendered as "    0\n"; a last row has no comma.
		want := whole.Len() - line.Len() + len("    0\n") + len(",")
		if got := render.Size([]byte(doc), 2); got != want {
			t.Errorf("%.60s: %d, want %d", doc, got, want)
		}
	}
}
