package transcript

import (
	"strconv"

	"github.com/parley-wasm/parley/plugin/jsonread"
)

// content writes the content of a message or of a block: a text, or an array of
// blocks and texts.
func (s *Sanitizer) content(r *jsonread.Reader, depth int) {
	switch c := r.Peek(); {
	case (c == '{' || c == '[') && depth > maxDepth:
		s.tooDeep(r)
	case c == '{':
		s.block(r, depth)
	case c == '[':
		s.array(r, depth, func() { s.content(r, depth+1) })
	default:
		s.value(r, "", depth)
	}
}

// block writes one block of content.
func (s *Sanitizer) block(r *jsonread.Reader, depth int) {
	switch typeOf(*r) {
	case "image":
		s.image(r, depth)
	case "thinking":
		s.object(r, thinkingMember, depth)
	case "redacted_thinking":
		s.object(r, redactedMember, depth)
	default:
		s.object(r, blockMember, depth)
	}
}

// typeOf returns the type of the block that r is at. It is nearly always the
// first member.
func typeOf(r jsonread.Reader) string {
	r.Object()
	for r.Member() {
		if r.Name() == "type" {
			return r.Text()
		}
		r.Skip()
	}
	return ""
}

func blockMember(name string) verdict {
	if name == "content" {
		return content
	}
	return common(name)
}

func thinkingMember(name string) verdict {
	if name == "signature" {
		return drop
	}
	return blockMember(name)
}

func redactedMember(name string) verdict {
	if name == "data" {
		return drop // thinking that its provider encrypted: nothing but a signature
	}
	return thinkingMember(name)
}

// image writes an image block without its data.
func (s *Sanitizer) image(r *jsonread.Reader, depth int) {
	bytes, found := s.imageData(*r, false)
	if !found {
		s.object(r, blockMember, depth)
		return
	}
	s.object(r, imageMember, depth)
	s.dst = s.dst[:len(s.dst)-1]
	if s.dst[len(s.dst)-1] != '{' {
		s.dst = append(s.dst, ',')
	}
	s.dst = strconv.AppendInt(append(s.dst, `"omitted":true,"bytes":`...), bytes, 10)
	s.dst = append(s.dst, '}')
	s.flags.Truncated = true
}

func imageMember(name string) verdict {
	switch name {
	case "data", "omitted", "bytes":
		return drop
	case "source":
		return source
	}
	return blockMember(name)
}

func sourceMember(name string) verdict {
	if name == "data" {
		return drop
	}
	return generic
}

// imageData returns the length of the data of the image that r is at, before the
// host cut it: its own and that of its source.
func (s *Sanitizer) imageData(r jsonread.Reader, inSource bool) (bytes int64, found bool) {
	r.Object()
	for r.Member() {
		mark := s.enter(r.Name())
		switch {
		case r.Name() == "data":
			bytes, found = bytes+s.length(&r), true
		case r.Name() == "source" && r.Peek() == '{' && !inSource:
			n, ok := s.imageData(r, true)
			bytes, found = bytes+n, found || ok
			r.Skip()
		default:
			r.Skip()
		}
		s.leave(mark)
	}
	return bytes, found
}

// length reads a value and returns its length: of a string, what it says.
func (s *Sanitizer) length(r *jsonread.Reader) int64 {
	for i := range s.cuts {
		if s.cuts[i].Path == string(s.path) {
			r.Skip()
			return s.cuts[i].Bytes
		}
	}
	if r.Peek() != '"' {
		return int64(len(r.Skip()))
	}
	body, escaped := r.RawText()
	if escaped {
		s.decoded = jsonread.Unescape(s.decoded[:0], body)
		return int64(len(s.decoded))
	}
	return int64(len(body))
}
