package transcript

import (
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/plugin/internal/redact"
	"github.com/parley-wasm/parley/plugin/internal/view"
)

// text writes a string, masked and cut. One that needs neither is copied as it
// stands, escapes included. name is that of the member.
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

// masked returns the text with masks, cut to MaxText characters. m is the first
// credential, if one was found.
func (s *Sanitizer) masked(t string, m redact.Match, found bool) []byte {
	out, cut := appendExcerpt(s.out[:0], t, MaxText, m, found)
	s.flags.Redacted = s.flags.Redacted || found
	s.flags.Truncated = s.flags.Truncated || cut
	s.out = out
	return out
}

// Excerpt returns a text as agents may read it: credentials masked, and cut to
// so many characters with Marker behind.
func Excerpt(t string, limit int) string {
	m, found := redact.Next(t, 0, advance(t, 0, limit))
	out, _ := appendExcerpt(nil, t, limit, m, found)
	return view.String(out)
}

// appendExcerpt appends the text with masks, cut to limit characters, and
// reports whether it was cut. m is the first credential, if one was found. What
// lies behind the cut is not looked at.
func appendExcerpt(out []byte, t string, limit int, m redact.Match, found bool) (_ []byte, cut bool) {
	from, left := 0, limit
	for found && !cut {
		out = append(out, t[from:m.Start]...)
		left -= utf8.RuneCountInString(t[from:m.Start])
		mark := len(out)
		out = m.AppendMask(out, t)
		left -= utf8.RuneCount(out[mark:])
		from = m.End
		if left < 0 { // half a mask is none
			out, cut = out[:mark], true
		} else {
			m, found = redact.Next(t, from, advance(t, from, left))
		}
	}
	if !cut {
		end := advance(t, from, left)
		out = append(out, t[from:end]...)
		cut = end < len(t)
	}
	if cut {
		out = append(out, Marker...)
	}
	return out, cut
}

// advance returns the index behind n characters of t from i on, or the end of t.
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
