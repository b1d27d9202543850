// Package transcript sanitizes stored messages before an agent sees them (S3.4).
//
// A message is checked, then traversed and written to the output in one pass. Roles, ids,
// types, timestamps, the order, and unknown members stay. These changes are made:
//
//   - details, usage and cost of the message, and the signatures of thinking and
//     of texts and tool calls (thinkingSignature, textSignature,
//     thoughtSignature, thought_signature; signature of a thinking block, data of
//     a redacted one, encrypted_content of a reasoning block), are left out;
//   - the data of an image block is removed, whether in the block, in its source or in
//     a data: URL; the block gains omitted: true and bytes, the length of the data;
//   - in every other text, at any depth, credentials are masked; a text longer
//     than 4000 characters is then truncated, and a marker appended. The name of a text can
//     identify it as a credential (label.go);
//   - a session key in provenance gets the form that the caller sees (S1.2, S1.3).
//
// Names of members are not changed, but a member whose name contains a credential or is very
// long is left out. A marker replaces a value that is nested deeper than a result may be.
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

// Marker follows a truncated text.
const Marker = "\n…(truncated)…"

// maxDepth bounds the nesting of a message, so that the result around the message does not
// exceed abi.MaxDepth.
const maxDepth = abi.MaxDepth - 8

// minSecret is the length of the shortest member name that is searched for a credential.
const minSecret = 12

// Flags describe the changes to messages.
type Flags struct {
	Truncated bool // a text was truncated, image data removed, or the host had truncated the message
	Redacted  bool // a credential was masked
}

// Add joins the flags of another message.
func (f *Flags) Add(o Flags) {
	f.Truncated = f.Truncated || o.Truncated
	f.Redacted = f.Redacted || o.Redacted
}

// Sanitizer sanitizes messages for one caller. It is not safe for concurrent use.
type Sanitizer struct {
	show  func(key string) string
	dst   []byte
	flags Flags

	out []byte // buffer for a masked text

	// Only for messages that the host truncated.
	truncations []abi.Truncation
	path        []byte // JSON Pointer of the current value
	left        int    // number of truncations whose values are part of the output
}

// New returns a Sanitizer. show converts a canonical session key to the form that the
// caller sees.
func New(show func(key string) string) *Sanitizer { return &Sanitizer{show: show} }

// Append appends the message as one JSON object. A placeholder replaces a message that is
// not an object in strict JSON, or that the host truncated as a whole.
func (s *Sanitizer) Append(dst []byte, m *abi.Message) ([]byte, Flags) {
	for i := range m.Truncations {
		if m.Truncations[i].Path == "" {
			return AppendPlaceholder(dst, m), Flags{Truncated: true}
		}
	}
	v := gjson.Parse(view.String(m.JSON))
	if !v.IsObject() || jsonstrict.Check(m.JSON) != nil {
		return AppendPlaceholder(dst, m), Flags{Truncated: true}
	}
	s.dst, s.flags = dst, Flags{}
	s.truncations, s.path, s.left = m.Truncations, s.path[:0], len(m.Truncations)
	s.object(v, messageMember, label{}, 1)
	out := s.dst
	s.dst = nil
	s.flags.Truncated = s.flags.Truncated || s.left > 0
	return out, s.flags
}

// action is the treatment of a member.
type action uint8

const (
	drop    action = iota // leave it out
	generic               // apply the rules for every value
	content               // blocks or a text
	origin                // provenance
	keyText               // a session key
	source                // of an image
)

// messageMember is the rule for members of the message itself.
func messageMember(name string, _ gjson.Result) action {
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

// common returns the action for a member that messages and blocks have in common.
func common(name string) action {
	switch name {
	case "thinkingSignature", "textSignature", "thoughtSignature", "thought_signature":
		return drop
	}
	return generic
}

func anyMember(string, gjson.Result) action { return generic }

// rule returns the action for a member by its name and value.
type rule func(name string, v gjson.Result) action

// object writes an object member by member; l is the object's label.
func (s *Sanitizer) object(v gjson.Result, rule rule, l label, depth int) {
	s.dst = append(s.dst, '{')
	first := len(s.dst)
	v.ForEach(func(name, member gjson.Result) bool {
		s.member(name, member, rule(name.Str, member), l.of(v, name.Str), first, depth)
		return true
	})
	s.dst = append(s.dst, '}')
}

// member writes a member or leaves it out. first is the index of the object's first member
// in the output.
func (s *Sanitizer) member(key, v gjson.Result, do action, l label, first, depth int) {
	name := key.Str
	parent := s.enter(name)
	if do != drop && len(name) >= minSecret {
		if _, secret := redact.Next(name, 0, len(name)); secret {
			do = drop
			s.flags.Redacted = true
		} else if len(name) > 4*MaxText {
			do = drop
			s.flags.Truncated = true
		}
	}
	if do == drop {
		s.skip()
		s.leave(parent)
		return
	}
	if len(s.dst) > first {
		s.dst = append(s.dst, ',')
	}
	s.dst = append(append(s.dst, key.Raw...), ':')
	switch {
	case do == content:
		s.content(v, l, depth+1)
	case do == origin && v.IsObject():
		s.object(v, originMember, l, depth+1)
	case do == source && v.IsObject():
		s.object(v, sourceMember, l, depth+1)
	case do == keyText && v.Type == gjson.String && isKey(v.Str):
		s.dst = jsonappend.String(s.dst, s.show(v.Str))
	default:
		s.value(v, l, depth+1)
	}
	s.leave(parent)
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

// array writes an array; each writes an element. An element's label may depend on the
// elements before it.
func (s *Sanitizer) array(v gjson.Result, each func(s *Sanitizer, v gjson.Result, l label, depth int), l label, depth int) {
	s.dst = append(s.dst, '[')
	i := 0
	var context arrayContext
	v.ForEach(func(_, v gjson.Result) bool {
		if i > 0 {
			s.dst = append(s.dst, ',')
		}
		parent := s.enterIndex(i)
		if element, keyLine := context.next(v, l); keyLine {
			s.dst = append(append(append(s.dst, '"'), redact.KeyMask...), '"')
			s.flags.Redacted = true
		} else {
			each(s, v, element, depth+1)
		}
		s.leave(parent)
		i++
		return true
	})
	s.dst = append(s.dst, ']')
}

// tooDeep writes a marker instead of a value that is nested too deep.
func (s *Sanitizer) tooDeep() {
	s.skip()
	s.dst = append(s.dst, `"…(truncated)…"`...)
	s.flags.Truncated = true
}
