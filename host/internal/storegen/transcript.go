package storegen

import (
	"fmt"
	"math/rand/v2"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/host/store"
)

// transcript generates a transcript: questions and answers with tool calls in between.
type transcript struct {
	session abi.Session
	random  *rand.Rand
	texts   writer
	left    int // remaining messages; not positive in a large transcript
	bytes   int // remaining bytes of a large transcript
	large   bool
	n       int
	pending string // id of the tool call without a result, or empty
}

func newTranscript(r *rand.Rand, s abi.Session, messages, bytes int) *transcript {
	return &transcript{session: s, random: r, texts: writer{r}, left: messages, bytes: bytes, large: bytes > 0}
}

// next returns the next message, which is valid until the following call.
func (s *transcript) next() (*store.Message, bool) {
	if s.left <= 0 && s.bytes <= 0 {
		return nil, false
	}
	at := s.session.UpdatedAt - int64(s.left)*1000
	m := &store.Message{SourceID: fmt.Sprintf("%08x", s.n), At: at}
	switch {
	case s.pending != "":
		m.Role, m.JSON = "toolResult", s.toolResult(at)
	case s.n%5 == 0:
		m.Role, m.JSON = "user", s.user(at)
	default:
		m.Role, m.JSON = "assistant", s.assistant(at, s.n%5 < 4)
	}
	s.n++
	s.left--
	s.bytes -= len(m.JSON)
	return m, true
}

func (s *transcript) user(at int64) []byte {
	o := jsonappend.Open(nil)
	o.String("role", "user")
	o.Value(append(s.texts.block(append(o.Key("content"), '['), 8, 60), ']'))
	o.Int("timestamp", at)
	return o.Close()
}

func (s *transcript) assistant(at int64, callsTool bool) []byte {
	o := jsonappend.Open(nil)
	o.String("role", "assistant")
	b := append(o.Key("content"), '[')
	if s.random.IntN(3) == 0 {
		t := jsonappend.Open(b)
		t.String("type", "thinking")
		t.Value(s.texts.text(t.Key("thinking"), 20, 80))
		t.String("thinkingSignature", "reasoning_content")
		b = append(t.Close(), ',')
	}
	b = s.texts.block(b, 10, 90)
	stop := "stop"
	if callsTool {
		stop, s.pending = "toolUse", fmt.Sprintf("call_%06x", s.random.IntN(1<<24))
		t := jsonappend.Open(append(b, ','))
		t.String("type", "toolCall")
		t.String("id", s.pending)
		t.String("name", "read")
		a := jsonappend.Open(t.Key("arguments"))
		a.String("path", fmt.Sprintf("/srv/notes/%d.md", s.random.IntN(1000)))
		t.Value(a.Close())
		b = t.Close()
	}
	o.Value(append(b, ']'))
	o.String("provider", "example")
	o.String("model", s.session.Model)
	input, output := s.random.Int64N(20_000), s.random.Int64N(900)
	u := jsonappend.Open(o.Key("usage"))
	u.Int("input", input)
	u.Int("output", output)
	u.Int("totalTokens", input+output)
	o.Value(u.Close())
	o.String("stopReason", stop)
	o.Int("timestamp", at)
	return o.Close()
}

func (s *transcript) toolResult(at int64) []byte {
	o := jsonappend.Open(nil)
	o.String("role", "toolResult")
	o.String("toolCallId", s.pending)
	s.pending = ""
	o.String("toolName", "read")
	o.Value(append(s.texts.block(append(o.Key("content"), '['), 15, s.resultWords()), ']'))
	o.Raw("details", []byte(`{"exitCode":0}`))
	o.Bool("isError", s.random.IntN(20) == 0)
	o.Int("timestamp", at)
	return o.Close()
}

// resultWords returns the maximum number of words of a tool result. In a large
// transcript a result has up to about 200 kB, occasionally over a megabyte.
func (s *transcript) resultWords() int {
	switch {
	case !s.large:
		return 150
	case s.random.IntN(50) == 0:
		return 400_000
	}
	return 4_000 + s.random.IntN(30_000)
}
