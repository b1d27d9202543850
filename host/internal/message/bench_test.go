package message_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/internal/message"
)

// BenchmarkShorten shows that the time per byte does not grow with the document. The
// case IndexByte, for comparison, only searches a document for an absent byte.
func BenchmarkShorten(b *testing.B) {
	for _, c := range []struct{ name, unit string }{
		{"plain", strings.Repeat("All of it is plain text. ", 41)},
		{"escapes", strings.Repeat(`\n\"\u00e9`, 102)},
		{"backslashes", strings.Repeat(`\\`, 512)},
		{"values", `",` + strings.Repeat(`12345,"x",`, 102) + `"`},
	} {
		for _, size := range []struct {
			name string
			kib  int
		}{{"60KiB", 60}, {"1MiB", 1 << 10}, {"100MiB", 100 << 10}} {
			doc := []byte(`{"role":"toolResult","content":["` + strings.Repeat(c.unit, size.kib) + `"],"timestamp":1767225600000}`)
			b.Run("doc="+c.name+"/size="+size.name, func(b *testing.B) {
				b.SetBytes(int64(len(doc)))
				b.ReportAllocs()
				for b.Loop() {
					message.Shorten(doc)
				}
			})
		}
	}
	doc := bytes.Repeat([]byte("x"), 100<<20)
	b.Run("doc=IndexByte/size=100MiB", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			if bytes.IndexByte(doc, '"') >= 0 {
				b.Fatal("found")
			}
		}
	})
}
