package transcript

import (
	"strconv"

	"github.com/tidwall/gjson"
)

// content writes the content of a message or of a block: a text, or an array of
// blocks and texts.
func (s *Sanitizer) content(v gjson.Result, name string, depth int) {
	switch {
	case v.Type == gjson.JSON && depth > maxDepth:
		s.tooDeep()
	case v.IsObject():
		s.block(v, depth)
	case v.IsArray():
		s.array(v, (*Sanitizer).content, name, depth)
	default:
		s.value(v, name, depth)
	}
}

// block writes one block of content.
func (s *Sanitizer) block(v gjson.Result, depth int) {
	switch v.Get("type").Str { // nearly always the first member
	case "image":
		s.image(v, depth)
	case "thinking":
		s.object(v, thinkingMember, depth)
	case "redacted_thinking":
		s.object(v, redactedMember, depth)
	default:
		s.object(v, blockMember, depth)
	}
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
func (s *Sanitizer) image(v gjson.Result, depth int) {
	bytes, found := s.imageData(v, false)
	if !found {
		s.object(v, blockMember, depth)
		return
	}
	s.object(v, imageMember, depth)
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

// imageData returns the length of an image's data, its own and that of its
// source, before the host cut it.
func (s *Sanitizer) imageData(v gjson.Result, inSource bool) (bytes int64, found bool) {
	v.ForEach(func(name, v gjson.Result) bool {
		mark := s.enter(name.Str)
		switch {
		case name.Str == "data":
			bytes, found = bytes+s.length(v), true
		case name.Str == "source" && v.IsObject() && !inSource:
			n, ok := s.imageData(v, true)
			bytes, found = bytes+n, found || ok
		}
		s.leave(mark)
		return true
	})
	return bytes, found
}

// length returns the length of the value at the path: of a string, what it says.
func (s *Sanitizer) length(v gjson.Result) int64 {
	for i := range s.cuts {
		if s.cuts[i].Path == string(s.path) {
			return s.cuts[i].Bytes
		}
	}
	if v.Type == gjson.String {
		return int64(len(v.Str))
	}
	return int64(len(v.Raw))
}
