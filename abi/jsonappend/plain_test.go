package jsonappend_test

import (
	"math/rand/v2"
	"testing"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// TestPlainEnd compares PlainEnd with a loop over single bytes: every pair of bytes at
// every position, and random texts.
func TestPlainEnd(t *testing.T) {
	check := func(text []byte, i int) {
		t.Helper()
		want := i
		for want < len(text) && text[want] >= 0x20 && text[want] < 0x80 && text[want] != '"' && text[want] != '\\' {
			want++
		}
		if got := jsonappend.PlainEnd(text, i); got != want {
			t.Fatalf("PlainEnd(%q, %d) = %d, want %d", text, i, got, want)
		}
		if got := jsonappend.PlainEnd(string(text), i); got != want {
			t.Fatalf("PlainEnd(string(%q), %d) = %d, want %d", text, i, got, want)
		}
	}
	for at := range 8 {
		for a := range 256 {
			for b := range 256 {
				text := []byte("plain text")
				text[at], text[at+1] = byte(a), byte(b)
				check(text, 0)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := make([]byte, r.IntN(40))
		for i := range text {
			text[i] = byte(0x1e + r.IntN(0x64))
		}
		check(text, r.IntN(len(text)+1))
	}
}
