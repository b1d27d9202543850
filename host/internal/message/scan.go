package message

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
)

// scan is one attempt to shorten a document. It copies the result to out and stops as
// soon as the result is too long.
type scan struct {
	doc   []byte
	limit int // maximum length of a decoded string
	bound int // maximum length of out and the list of truncations together

	out         []byte // the shortened form of doc[:copied]
	copied      int
	truncations []abi.Truncation
	listLength  int // JSON length of the truncations

	stack [abi.MaxDepth]container
	depth int
}

// container is an open array or object and the scan's position in it.
type container struct {
	object bool
	named  bool   // a member's name was read and its value follows
	name   []byte // raw, with quotes
	index  int
}

// run scans the document and reports whether the result fits. The document must be
// strict JSON; run detects only those errors that prevent it from continuing.
func (s *scan) run() bool {
	for i := 0; i < len(s.doc); {
		if s.length(i) > s.bound {
			return false
		}
		switch c := s.doc[i]; c {
		case '"':
			end := stringEnd(s.doc, i+1)
			if end < 0 {
				return false
			}
			if at := s.top(); at != nil && at.object && !at.named {
				at.name = s.doc[i : end+1]
			} else if end-i-1 > s.limit { // a decoded string is never longer than its raw text
				s.truncateString(i+1, end)
			}
			i = end + 1
			continue
		case '{', '[':
			if s.depth == len(s.stack) {
				return false
			}
			s.stack[s.depth] = container{object: c == '{'}
			s.depth++
		case '}', ']':
			if s.depth == 0 {
				return false
			}
			s.depth--
		case ':':
			if at := s.top(); at != nil {
				at.named = true
			}
		case ',':
			if at := s.top(); at != nil {
				at.named = false
				at.index++
			}
		}
		i++
	}
	return s.depth == 0 && s.length(len(s.doc)) <= s.bound
}

// length returns the length of the result and its truncations if doc ended at byte i.
func (s *scan) length(i int) int { return len(s.out) + i - s.copied + s.listLength }

// result returns the shortened document after a successful run.
func (s *scan) result() ([]byte, []abi.Truncation) {
	if s.truncations == nil {
		return s.doc, nil
	}
	return append(s.out, s.doc[s.copied:]...), s.truncations
}

func (s *scan) top() *container {
	if s.depth == 0 {
		return nil
	}
	return &s.stack[s.depth-1]
}

// truncateString truncates the string with the raw text [start, end) if it is too long.
func (s *scan) truncateString(start, end int) {
	keep, size := measure(s.doc[start:end], s.limit)
	if start+keep == end {
		return
	}
	s.out = append(s.out, s.doc[s.copied:start+keep]...)
	s.copied = end
	truncation := abi.Truncation{Path: s.pointer(), Bytes: int64(size)}
	s.truncations = append(s.truncations, truncation)
	s.listLength += len(jsonappend.String(nil, truncation.Path)) + len(`{"path":,"bytes":},`) + len(strconv.Itoa(size))
	if len(s.truncations) == 1 {
		s.listLength += len(`,"cut":[]`)
	}
}

// pointer returns the JSON Pointer (RFC 6901) to the current value.
func (s *scan) pointer() string {
	var p strings.Builder
	for i := range s.stack[:s.depth] {
		at := &s.stack[i]
		p.WriteByte('/')
		if !at.object {
			p.WriteString(strconv.Itoa(at.index))
			continue
		}
		var name string
		if json.Unmarshal(at.name, &name) == nil { // fails only if doc is not JSON
			pointerEscapes.WriteString(&p, name)
		}
	}
	return p.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// stringEnd returns the index of the closing quote of the string whose text starts at
// start, or -1.
func stringEnd(doc []byte, start int) int {
	for i := start; ; {
		quote := bytes.IndexByte(doc[i:], '"')
		if quote < 0 {
			return -1
		}
		quote += i
		slash := quote
		for slash > i && doc[slash-1] == '\\' {
			slash--
		}
		if (quote-slash)%2 == 0 {
			return quote
		}
		i = quote + 1
	}
}

// measure returns the decoded length of a string's raw text, and the length of the raw
// text that decodes to the longest prefix of whole code points within limit.
func measure(raw []byte, limit int) (keep, size int) {
	keep = -1
	for i := 0; i < len(raw); {
		plain := bytes.IndexByte(raw[i:], '\\')
		if plain < 0 {
			plain = len(raw) - i
		}
		if keep < 0 && size+plain > limit {
			keep = i + limit - size
			for keep > i && raw[keep]&0xC0 == 0x80 { // back to the start of a rune
				keep--
			}
		}
		i += plain
		size += plain
		if i == len(raw) {
			break
		}
		length, decoded := escape(raw[i:])
		if keep < 0 && size+decoded > limit {
			keep = i
		}
		i += length
		size += decoded
	}
	if keep < 0 {
		keep = len(raw)
	}
	return keep, size
}

// escape returns the raw and the decoded length of the escape at the start of raw. A
// surrogate pair is one escape.
func escape(raw []byte) (length, decoded int) {
	if len(raw) < 6 || raw[1] != 'u' {
		return min(2, len(raw)), 1
	}
	unit, _ := strconv.ParseUint(string(raw[2:6]), 16, 16)
	switch {
	case unit < 0x80:
		return 6, 1
	case unit < 0x800:
		return 6, 2
	case unit >= 0xD800 && unit < 0xDC00:
		return min(12, len(raw)), 4
	}
	return 6, 3
}
