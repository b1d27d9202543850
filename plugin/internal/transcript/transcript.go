// Package transcript makes stored messages fit to be shown to an agent (S3.4).
//
// A message is checked, then walked front to back and written to the output on
// the way. What it says stays: roles, ids, types, timestamps, order, and every
// member that this package does not know. What changes:
//
//   - details, usage and cost of the message, and the signatures of thinking and
//     of texts and tool calls (thinkingSignature, textSignature,
//     thoughtSignature, thought_signature; signature of a thinking block, data of
//     a redacted one, encrypted_content of a reasoning block), are left out;
//   - an image block loses its data, also that of its source and in a data: URL,
//     and gains omitted: true and bytes, the length of what was removed;
//   - in every other text, however deep, credentials are masked; the text is then
//     cut to 4000 characters, and a marker appended. What a text is named by tells
//     credentials too (label.go);
//   - a session key in provenance is shown as the caller sees keys (S1.2, S1.3).
//
// Names of members are no texts, but a member whose name holds a credential is
// left out, and so is what is nested deeper than a result may be.
package transcript

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/plugin/internal/redact"
	"github.com/parley-wasm/parley/plugin/internal/view"
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

	out []byte // text with masks

	// Only for messages that the host shortened: the path of the value that is
	// being read, and how many of the cuts are still part of the output.
	cuts []abi.Cut
	path []byte
	left int
}

// New returns a Sanitizer; show gives a canonical session key the form in which
// the caller sees it.
func New(show func(key string) string) *Sanitizer { return &Sanitizer{show: show} }

// Append appends the message as one JSON object. A message that is none, or no
// strict JSON, or that the host had to empty, becomes a placeholder.
func (s *Sanitizer) Append(dst []byte, m *abi.Message) ([]byte, Flags) {
	for i := range m.Cut {
		if m.Cut[i].Path == "" {
			return AppendPlaceholder(dst, m), Flags{Truncated: true}
		}
	}
	v := gjson.Parse(view.String(m.JSON))
	if !v.IsObject() || jsonstrict.Check(m.JSON) != nil {
		return AppendPlaceholder(dst, m), Flags{Truncated: true}
	}
	s.dst, s.flags = dst, Flags{}
	s.cuts, s.path, s.left = m.Cut, s.path[:0], len(m.Cut)
	s.object(v, messageMember, label{}, 1)
	out := s.dst
	s.dst = nil
	s.flags.Truncated = s.flags.Truncated || s.left > 0
	return out, s.flags
}

// verdict is what becomes of a member.
type verdict uint8

const (
	drop    verdict = iota // left out, with its value
	generic                // by the rules for every value
	content                // blocks or a text
	origin                 // provenance
	keyText                // a session key
	source                 // of an image
)

// messageMember decides about a member of the message itself.
func messageMember(name string, _ gjson.Result) verdict {
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
	case "thinkingSignature", "textSignature", "thoughtSignature", "thought_signature":
		return drop
	}
	return generic
}

func anyMember(string, gjson.Result) verdict { return generic }

// rule decides about a member, by its name and its value.
type rule func(name string, v gjson.Result) verdict

// object writes an object, member by member; l is what it belongs to.
func (s *Sanitizer) object(v gjson.Result, decide rule, l label, depth int) {
	s.dst = append(s.dst, '{')
	first := len(s.dst)
	v.ForEach(func(name, member gjson.Result) bool {
		s.member(name, member, decide(name.Str, member), l.of(v, name.Str), first, depth)
		return true
	})
	s.dst = append(s.dst, '}')
}

// member writes a member, unless it is left out. first is where the object's
// first member would be.
func (s *Sanitizer) member(key, v gjson.Result, what verdict, l label, first, depth int) {
	name := key.Str
	mark := s.enter(name)
	if what != drop && len(name) >= minSecret {
		if _, secret := redact.Next(name, 0, len(name)); secret {
			what = drop
			s.flags.Redacted = true
		} else if len(name) > 4*MaxText {
			what = drop
			s.flags.Truncated = true
		}
	}
	if what == drop {
		s.skip()
		s.leave(mark)
		return
	}
	if len(s.dst) > first {
		s.dst = append(s.dst, ',')
	}
	s.dst = append(append(s.dst, key.Raw...), ':')
	switch {
	case what == content:
		s.content(v, l, depth+1)
	case what == origin && v.IsObject():
		s.object(v, originMember, l, depth+1)
	case what == source && v.IsObject():
		s.object(v, sourceMember, l, depth+1)
	case what == keyText && v.Type == gjson.String && isKey(v.Str):
		s.dst = jsonappend.String(s.dst, s.show(v.Str))
	default:
		s.value(v, l, depth+1)
	}
	s.leave(mark)
}

// value writes any value.
func (s *Sanitizer) value(v gjson.Result, l label, depth int) {
	switch {
	case v.Type == gjson.String:
		s.text(v, l.name)
	case v.Type == gjson.JSON && depth > maxDepth:
		s.tooDeep()
	case v.IsObject():
		s.object(v, anyMember, l, depth)
	case v.IsArray():
		s.array(v, (*Sanitizer).value, l, depth)
	case v.Type == gjson.Number && !l.inherited && redact.HidesNumbers(l.name):
		s.dst = append(s.dst, `"***"`...)
		s.flags.Redacted = true
	default:
		s.dst = append(s.dst, v.Raw...)
	}
}

// array writes an array whose elements each writes. An element may be what the
// one before it announced.
func (s *Sanitizer) array(v gjson.Result, each func(s *Sanitizer, v gjson.Result, l label, depth int), l label, depth int) {
	s.dst = append(s.dst, '[')
	i := 0
	var before sequence
	v.ForEach(func(_, v gjson.Result) bool {
		if i > 0 {
			s.dst = append(s.dst, ',')
		}
		mark := s.enterIndex(i)
		if element, keyLine := before.next(v, l); keyLine {
			s.dst = append(append(append(s.dst, '"'), redact.KeyMask...), '"')
			s.flags.Redacted = true
		} else {
			each(s, v, element, depth+1)
		}
		s.leave(mark)
		i++
		return true
	})
	s.dst = append(s.dst, ']')
}

func (s *Sanitizer) tooDeep() {
	s.skip()
	s.dst = append(s.dst, `"…(truncated)…"`...)
	s.flags.Truncated = true
}
