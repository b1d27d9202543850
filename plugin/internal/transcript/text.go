package transcript

import (
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/plugin/internal/redact"
	"github.com/parley-wasm/parley/plugin/internal/view"
)

// text writes a string, masked and truncated. A string that needs neither is copied
// unchanged, including its escapes. name is the name of its member.
func (s *Sanitizer) text(v gjson.Result, name string) {
	t := v.Str
	end := advance(t, 0, MaxText)
	m, found := redact.Member(name, t)
	if found && m.Start >= end {
		found = false
	}
	if !found {
		m, found = redact.Next(t, 0, end)
	}
	if !found && end == len(t) {
		s.dst = append(s.dst, v.Raw...)
		return
	}
	s.dst = jsonappend.String(s.dst, view.String(s.masked(t, m, found)))
}

// masked returns the text with its credentials masked, truncated to MaxText characters. m
// is the first credential, if one was found.
func (s *Sanitizer) masked(t string, m redact.Match, found bool) []byte {
	out, truncated := appendExcerpt(s.out[:0], t, MaxText, m, found)
	s.flags.Redacted = s.flags.Redacted || found
	s.flags.Truncated = s.flags.Truncated || truncated
	s.out = out
	return out
}

// Excerpt returns t in a form that agents may read: credentials are masked, and a text longer
// than limit characters is truncated and followed by Marker.
func Excerpt(t string, limit int) string {
	m, found := redact.Next(t, 0, advance(t, 0, limit))
	out, _ := appendExcerpt(nil, t, limit, m, found)
	return view.String(out)
}

// appendExcerpt appends the text with its credentials masked, truncated to limit
// characters, and reports whether it was truncated. m is the first credential, if one was
// found. The text beyond the limit is not searched.
func appendExcerpt(out []byte, t string, limit int, m redact.Match, found bool) (_ []byte, truncated bool) {
	from, left := 0, limit
	for found && !truncated {
		out = append(out, t[from:m.Start]...)
		left -= utf8.RuneCountInString(t[from:m.Start])
		before := len(out)
		out = m.AppendMask(out, t)
		left -= utf8.RuneCount(out[before:])
		from = m.End
		if left < 0 { // a mask is never truncated
			out, truncated = out[:before], true
		} else {
			m, found = redact.Next(t, from, advance(t, from, left))
		}
	}
	if !truncated {
		end := advance(t, from, left)
		out = append(out, t[from:end]...)
		truncated = end < len(t)
	}
	if truncated {
		out = append(out, Marker...)
	}
	return out, truncated
}

// advance returns the index after n characters of t from i, or the end of t.
func advance(t string, i, n int) int {
	if len(t)-i <= n {
		return len(t)
	}
	for ; n > 0 && i < len(t); n-- {
		if t[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, size := utf8.DecodeRuneInString(t[i:])
		i += size
	}
	return i
}
