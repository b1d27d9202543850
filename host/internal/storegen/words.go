package storegen

import (
	"math/rand/v2"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

var words = []string{
	"the", "a", "and", "to", "of", "in", "is", "that", "for", "with", "build", "server", "meeting", "tomorrow", "report", "please",
	"check", "found", "three", "errors", "deploy", "after", "before", "nothing", "changed", "since", "Monday", "the\nnext", "step:", "done.",
	"file", "\"quoted\"", "naïve", "größer", "日本語", "🙂", "https://example.com/a?b=c", "path\\to", "retry", "queue", "message", "thread",
}

// prose is one long text; ends are the end offsets of its words.
var prose, ends = makeProse(20_000)

func makeProse(n int) (text []byte, ends []int) {
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
		text = append(append(text, words[r.IntN(len(words))]...), ' ')
		ends = append(ends, len(text))
	}
	return text, ends
}

// writer generates random texts as slices of prose, which is faster than choosing each
// word.
type writer struct{ random *rand.Rand }

// text appends a JSON string of least to most words.
func (w *writer) text(b []byte, least, most int) []byte {
	n := least + w.random.IntN(most-least+1)
	var text []byte
	for n > 0 {
		from := w.random.IntN(len(ends) / 2)
		to := min(from+n, len(ends)-1)
		text = append(text, prose[ends[from]:ends[to]]...)
		n -= to - from
	}
	return jsonappend.String(b, string(text))
}

// block appends a text content block.
func (w *writer) block(b []byte, least, most int) []byte {
	o := jsonappend.Open(b)
	o.String("type", "text")
	o.Value(w.text(o.Key("text"), least, most))
	return o.Close()
}
