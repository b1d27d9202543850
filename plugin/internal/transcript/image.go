package transcript

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// image writes an image block without its data.
func (s *Sanitizer) image(v gjson.Result, l label, depth int) {
	bytes, found := s.imageData(v, false)
	if !found {
		s.object(v, blockMember, l, depth)
		return
	}
	s.object(v, imageMember, l, depth)
	s.dst = s.dst[:len(s.dst)-1]
	if s.dst[len(s.dst)-1] != '{' {
		s.dst = append(s.dst, ',')
	}
	s.dst = strconv.AppendInt(append(s.dst, `"omitted":true,"bytes":`...), bytes, 10)
	s.dst = append(s.dst, '}')
	s.flags.Truncated = true
}

func imageMember(name string, v gjson.Result) action {
	switch {
	case isData(name, v), name == "omitted", name == "bytes":
		return drop
	case isSource(name):
		return source
	}
	return blockMember(name, v)
}

func sourceMember(name string, v gjson.Result) action {
	if isData(name, v) {
		return drop
	}
	return generic
}

// isSource reports whether a member of an image block is the image's URL, or an object with
// its URL or data.
func isSource(name string) bool { return name == "source" || name == "image_url" || name == "image" }

// isData reports whether a member contains the image itself: data, or a data: URL.
func isData(name string, v gjson.Result) bool {
	return name == "data" || (name == "url" || isSource(name)) && v.Type == gjson.String && strings.HasPrefix(v.Str, "data:")
}

// imageData returns the length of the data in an image block and in its source. The length
// of data that the host truncated is the original one.
func (s *Sanitizer) imageData(v gjson.Result, inSource bool) (bytes int64, found bool) {
	v.ForEach(func(name, v gjson.Result) bool {
		parent := s.enter(name.Str)
		switch {
		case isData(name.Str, v):
			bytes, found = bytes+s.length(v), true
		case isSource(name.Str) && v.IsObject() && !inSource:
			n, ok := s.imageData(v, true)
			bytes, found = bytes+n, found || ok
		}
		s.leave(parent)
		return true
	})
	return bytes, found
}

// length returns the length of the value at the path before the host truncated the value.
// For a string, it is the length of the decoded text.
func (s *Sanitizer) length(v gjson.Result) int64 {
	for i := range s.truncations {
		if s.truncations[i].Path == string(s.path) {
			return s.truncations[i].Bytes
		}
	}
	if v.Type == gjson.String {
		return int64(len(v.Str))
	}
	return int64(len(v.Raw))
}
