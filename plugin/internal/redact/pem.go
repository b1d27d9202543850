package redact

import "strings"

// pemMask replaces a private key between its BEGIN and END lines.
const pemMask = "…redacted…"

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
	pemDash  = "-----"
)

// pem matches the body of a private key whose BEGIN line starts at i. A key without an END
// line ends after the last line that looks like part of a key.
func pem(text string, i int) Match {
	kind := i + len(pemBegin)
	body := (upper | digit | space).spanMax(text, kind, 48)
	if !strings.Contains(text[kind:body], "PRIVATE KEY") || !strings.HasPrefix(text[body:], pemDash) {
		return Match{}
	}
	body += len(pemDash)
	end := body
	for {
		d := strings.Index(text[end:], pemDash)
		if d >= 0 && strings.HasPrefix(text[end+d:], pemEnd) {
			end += d
			break
		}
		if d < 0 || strings.HasPrefix(text[end+d:], pemBegin) {
			end = pemLines(text, body)
			break
		}
		end += d + len(pemDash)
	}
	if v := text[body:end]; v == pemMask || strings.TrimSpace(v) == "" {
		return Match{}
	}
	return Match{Start: body, End: end, pem: true}
}

// pemLines returns the end of the lines after i that consist of base64, or are headers of
// an encrypted key. Line ends may be written as \n; a line of 40 or more characters need
// not follow a line end.
func pemLines(text string, i int) int {
	for {
		start, broken := lineBreak(text, i)
		stop := base64.span(text, start)
		if strings.HasPrefix(text[start:], "Proc-Type:") || strings.HasPrefix(text[start:], "DEK-Info:") {
			stop = (control | backslash).until(text, stop)
		}
		if stop == start || !broken && stop-start < 40 || !lineEnd(text, stop) {
			return i
		}
		i = stop
	}
}

// lineBreak returns the index after the line ends and blanks at i, and whether there was a
// line end.
func lineBreak(text string, i int) (next int, broken bool) {
	for ; ; broken = true {
		i = blank.span(text, i)
		switch {
		case eol.at(text, i):
			i = afterPrefix(text, i+1)
		case i < len(text) && text[i] == '\\' && escapeLetter.at(text, i+1):
			i += 2
		default:
			return i, broken
		}
	}
}

// afterPrefix returns the index after the prefix that quotations, diffs, comments and
// listings put before the line at i: > + - # * |, or the number of the line.
func afterPrefix(text string, i int) int {
	from := skipSpace(text, i)
	j := digit.spanMax(text, from, 7)
	for n := 0; n < 3 && j < len(text) && strings.IndexByte(">+-#*|:", text[j]) >= 0; n++ {
		j++
	}
	if j > from && blank.at(text, j) {
		return j
	}
	return i
}

// lineEnd reports whether a line of a key may end at i. It may not end
// before other text on the same line.
func lineEnd(text string, i int) bool {
	next, broken := lineBreak(text, i)
	return broken || next == len(text) || (hyphen|quote).at(text, i)
}
