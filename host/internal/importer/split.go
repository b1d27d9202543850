package importer

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// members calls fn for each member of the object in doc, which is valid JSON,
// in order; duplicates are duplicates. Values are parts of doc: nothing is
// copied, however long they are. end is the offset behind the name. It reports
// false if doc is no object.
func members(doc []byte, fn func(name string, value []byte, end int)) bool {
	i := skipSpace(doc, 0)
	if i >= len(doc) || doc[i] != '{' {
		return false
	}
	for i = skipSpace(doc, i+1); i < len(doc) && doc[i] == '"'; {
		start := i
		i = skipString(doc, i)
		name, end := unquote(doc[start:i]), i
		i = skipSpace(doc, i) + 1 // the colon
		start = skipSpace(doc, i)
		i = skipValue(doc, start)
		fn(name, doc[start:i], end)
		if i = skipSpace(doc, i); i < len(doc) && doc[i] == ',' {
			i = skipSpace(doc, i+1)
		}
	}
	return true
}

func skipSpace(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\t' || doc[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the offset behind the string that starts at i.
func skipString(doc []byte, i int) int {
	for i++; i < len(doc); {
		switch n := bytes.IndexAny(doc[i:min(i+64, len(doc))], `"\`); {
		case n < 0:
			i = min(i+64, len(doc))
		case doc[i+n] == '\\':
			i += n + 2
		default:
			return i + n + 1
		}
	}
	return len(doc)
}

// skipValue returns the offset behind the value that starts at i.
func skipValue(doc []byte, i int) int {
	for depth := 0; i < len(doc); {
		switch doc[i] {
		case '"':
			i = skipString(doc, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i // a number or word ended here
			}
			depth--
			i++
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
			i++
			continue
		case ':':
			i++
			continue
		default:
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return len(doc)
}

// unquote decodes a member name. Bytes that are not UTF-8 stay, so that whoever
// checks the name sees them.
func unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil || !utf8.ValidString(s) {
		return string(inner)
	}
	return s
}
