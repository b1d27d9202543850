// Package transcript makes stored messages fit to be shown to an agent (S3.4).
//
// A message is read once, front to back, and written to the output as it is
// read. What it says stays: roles, ids, types, timestamps, order, and every
// member that this package does not know. What changes:
//
//   - details, usage and cost of the message, and the signatures of thinking and
//     of texts and tool calls (thinkingSignature, textSignature,
//     thoughtSignature; signature of a thinking block, data of a redacted one),
//     are left out;
//   - an image block loses data (also source.data) and gains omitted: true and
//     bytes, the length of what was removed;
//   - in every other text, however deep, credentials are masked; the text is then
//     cut to 4000 characters, and a marker appended;
//   - a session key in provenance is shown as the caller sees keys (S1.2, S1.3).
//
// Names of members are no texts, but a member whose name holds a credential is
// left out, and so is what is nested deeper than a result may be.
package transcript

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/plugin/jsonread"
	"github.com/parley-wasm/parley/plugin/redact"
	"github.com/parley-wasm/parley/plugin/view"
)

// MaxText is the length of the longest text, in characters (code points).
const MaxText = 4000

// Marker follows a text that was cut.
const Marker = "\n…(truncated)…"

// maxDepth is how deep a message may be nested: a result wraps it, and no JSON
// document is deeper than abi.MaxDepth.
const maxDepth = abi.MaxDepth - 8

// minSecret is the length of the shortest name that is searched for a credential.
const minSecret = 12

// Flags say what was done to messages.
type Flags struct {
	Truncated bool // a text was cut, data of an image removed, or the host had shortened the message
	Redacted  bool // a credential was masked
}

// Add joins the flags of another message.
func (f *Flags) Add(o Flags) {
	f.Truncated = f.Truncated || o.Truncated
	f.Redacted = f.Redacted || o.Redacted
}

// Sanitizer writes messages for one caller. It is for one goroutine.
type Sanitizer struct {
	show  func(key string) string
	dst   []byte
	flags Flags

	decoded []byte // text without escapes
	out     []byte // text with masks

	// Only for messages that the host shortened: the path of the value that is
	// being read, and how many of the cuts are still part of the output.
	cuts []abi.Cut
	path []byte
	left int
}

// New returns a Sanitizer; show gives a canonical session key the form in which
// the caller sees it.
func New(show func(key string) string) *Sanitizer { return &Sanitizer{show: show} }

// Append appends the message as one JSON object. A message that is none, or that
// the host had to empty, becomes a placeholder.
func (s *Sanitizer) Append(dst []byte, m *abi.Message) ([]byte, Flags) {
	for i := range m.Cut {
		if m.Cut[i].Path == "" {
			return AppendPlaceholder(dst, m), Flags{Truncated: true}
		}
	}
	s.dst, s.flags = dst, Flags{}
	s.cuts, s.path, s.left = m.Cut, s.path[:0], len(m.Cut)
	r := jsonread.New(view.String(m.JSON))
	if r.Peek() == '{' {
		s.object(&r, messageMember, 1)
	}
	out := s.dst
	s.dst = nil
	if len(out) == len(dst) || !r.OK() || r.Peek() != 0 {
		return AppendPlaceholder(dst, m), Flags{Truncated: true}
	}
	s.flags.Truncated = s.flags.Truncated || s.left > 0
	return out, s.flags
}

// verdict is what becomes of a member.
type verdict uint8

const (
	drop     verdict = iota // left out, with its value
	verbatim                // as it is
	generic                 // by the rules for every value
	content                 // blocks or a text
	origin                  // provenance
	keyText                 // a session key
	source                  // of an image
)

// messageMember decides about a member of the message itself.
func messageMember(name string) verdict {
	switch name {
	case "details", "usage", "cost":
		return drop
	case "content":
		return content
	case "provenance":
		return origin
	}
	return common(name)
}

// common decides about a member of a message or block.
func common(name string) verdict {
	switch name {
	case "thinkingSignature", "textSignature", "thoughtSignature":
		return drop
	case "role", "type", "id", "parentId", "timestamp", "toolCallId", "toolUseId", "tool_call_id", "tool_use_id":
		return verbatim
	}
	return generic
}

func originMember(name string) verdict {
	if name == "sourceSessionKey" {
		return keyText
	}
	return generic
}

func anyMember(string) verdict { return generic }

// object writes an object, member by member.
func (s *Sanitizer) object(r *jsonread.Reader, decide func(name string) verdict, depth int) {
	s.dst = append(s.dst, '{')
	first := len(s.dst)
	r.Object()
	for r.Member() {
		s.member(r, decide(r.Name()), first, depth)
	}
	s.dst = append(s.dst, '}')
}

// member writes the member that r is at, unless it is left out. first is where
// the object's first member would be.
func (s *Sanitizer) member(r *jsonread.Reader, v verdict, first, depth int) {
	name := r.Name()
	mark := s.enter(name)
	if v != drop && len(name) >= minSecret {
		if _, secret := redact.Next(name, 0, len(name)); secret {
			v = drop
			s.flags.Redacted = true
		} else if len(name) > 4*MaxText {
			v = drop
			s.flags.Truncated = true
		}
	}
	if v == drop {
		s.skip(r)
		s.leave(mark)
		return
	}
	if len(s.dst) > first {
		s.dst = append(s.dst, ',')
	}
	s.dst = append(append(append(s.dst, '"'), r.RawName()...), '"', ':')
	switch v {
	case verbatim:
		s.dst = append(s.dst, r.Skip()...)
	case content:
		s.content(r, depth+1)
	case origin:
		s.nested(r, originMember, name, depth)
	case source:
		s.nested(r, sourceMember, name, depth)
	case keyText:
		if r.Peek() == '"' {
			s.dst = jsonappend.String(s.dst, s.show(r.Text()))
			break
		}
		fallthrough
	default:
		s.value(r, name, depth+1)
	}
	s.leave(mark)
}

// nested writes an object by rules of its own, and anything else as any value.
func (s *Sanitizer) nested(r *jsonread.Reader, decide func(string) verdict, name string, depth int) {
	if r.Peek() != '{' {
		s.value(r, name, depth+1)
		return
	}
	s.object(r, decide, depth+1)
}

// value writes any value. name is that of the member it belongs to.
func (s *Sanitizer) value(r *jsonread.Reader, name string, depth int) {
	switch c := r.Peek(); {
	case c == '"':
		s.text(r, name)
	case (c == '{' || c == '[') && depth > maxDepth:
		s.tooDeep(r)
	case c == '{':
		s.object(r, anyMember, depth)
	case c == '[':
		s.array(r, depth, func() { s.value(r, name, depth+1) })
	case (c == '-' || c >= '0' && c <= '9') && redact.HidesNumbers(name):
		r.Skip()
		s.dst = append(s.dst, `"***"`...)
		s.flags.Redacted = true
	default:
		s.dst = append(s.dst, r.Skip()...)
	}
}

func (s *Sanitizer) tooDeep(r *jsonread.Reader) {
	s.skip(r)
	s.dst = append(s.dst, `"…(truncated)…"`...)
	s.flags.Truncated = true
}

// array writes an array whose elements each writes.
func (s *Sanitizer) array(r *jsonread.Reader, depth int, each func()) {
	s.dst = append(s.dst, '[')
	r.Array()
	for i := 0; r.Element(); i++ {
		if i > 0 {
			s.dst = append(s.dst, ',')
		}
		mark := s.enterIndex(i)
		each()
		s.leave(mark)
	}
	s.dst = append(s.dst, ']')
}
