package jsonstrict_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// BenchmarkCheck compares Check with json.Valid, which checks the grammar only: not
// UTF-8, surrogates, ranges or duplicates.
func BenchmarkCheck(b *testing.B) {
	row := `{"key":"agent:main:discord:group:123","agentId":"main","kind":"group","sessionId":"5f0c2f3e-9f0e-4a8e-8a55-6a2d9a1c7f10",` +
		`"updatedAt":1767225600000,"label":"Release","chatType":"group","channel":"discord","lastChannel":"discord","lastTo":"123",` +
		`"model":"small","contextTokens":128000,"totalTokens":5321,"systemSent":true,"status":"done"}`
	message := `{"seq":12,"message":{"role":"assistant","content":[{"type":"text","text":"The build is green.\nI changed \"parse\" and its tests; nothing else was needed."},` +
		`{"type":"toolCall","id":"call_1","name":"exec","arguments":{"command":"go test ./...","timeout":30}}],"timestamp":1767225600000,"usage":{"input":900,"output":300,"cost":{"total":0.0123}}}}`
	for _, c := range []struct{ name, doc string }{
		{"call", `{"abi":1,"flowId":"f1","step":1,"callId":"c1","now":1767225600000,"acceptedAt":1767225600000,"tool":"sessions_list","args":{"limit":5},"caller":{"sessionKey":"agent:main:main","agentId":"main","sandboxed":false,"depth":0,"hops":0},"config":{}}`},
		{"sessions-100KiB", repeat(row, 100<<10)},
		{"messages-1MiB", repeat(message, 1<<20)},
		{"ascii-1MiB", `"` + strings.Repeat("All of it is plain text. ", 1<<20/25) + `"`},
		{"cjk-1MiB", `"` + strings.Repeat("会话工具", 1<<20/12) + `"`},
		{"escapes-1MiB", `"` + strings.Repeat(`\n\"\u00e9`, 1<<20/10) + `"`},
		{"numbers-1MiB", repeat("1767225600000,0.25,-7", 1<<20)},
		{"members-200000", string(members(rand.New(rand.NewPCG(1, 2)).Perm(200_000)))},
	} {
		doc := []byte(c.doc)
		b.Run("doc="+c.name+"/by=jsonstrict", func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if err := jsonstrict.Check(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("doc="+c.name+"/by=json.Valid", func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if !json.Valid(doc) {
					b.Fatal("not valid")
				}
			}
		})
	}
}

// BenchmarkNormalize compares a document that needs no repair with one whose last
// string does.
func BenchmarkNormalize(b *testing.B) {
	row := `{"role":"user","content":[{"type":"text","text":"Hello there"}],"timestamp":1767225600000}`
	for _, c := range []struct{ name, doc string }{
		{"clean", repeat(row, 1<<20)},
		{"repaired", "[" + repeat(row, 1<<20) + ",\"\xff\"]"},
	} {
		doc := []byte(c.doc)
		b.Run("doc="+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			dst := make([]byte, 0, len(doc)+16)
			for b.Loop() {
				if _, _, err := jsonstrict.Normalize(dst, doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// repeat returns an array of about size bytes.
func repeat(element string, size int) string {
	n := max(1, size/(len(element)+1))
	return "[" + strings.Repeat(element+",", n-1) + element + "]"
}
