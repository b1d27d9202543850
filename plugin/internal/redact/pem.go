package redact

import "strings"

// pemMask takes the place of a private key between its BEGIN and END lines.
const pemMask = "…redacted…"

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
	pemDash  = "-----"
)

// dashes matches a PEM private key, or a command-line flag or option, at text[i].
func dashes(text string, i int) (Match, bool) {
	if i+1 >= len(text) || text[i+1] != '-' {
		return option(text, i)
	}
	if i > 0 && text[i-1] == '-' {
		return Match{}, false
	}
	if strings.HasPrefix(text[i:], pemBegin) {
		return pem(text, i)
	}
	if !boundary(text, i) || strings.HasSuffix(text[:i], ellipsis) {
		return Match{}, false
	}
	return flag(text, i)
}

// pem matches the body of a private key whose BEGIN line starts at i. A key
// without an END line reaches as far as its lines look like one.
func pem(text string, i int) (Match, bool) {
	label := i + len(pemBegin)
	body := label
	for body < len(text) && body-label < 48 && (upper(text[body]) || digit(text[body]) || text[body] == ' ') {
		body++
	}
	if !strings.Contains(text[label:body], "PRIVATE KEY") || !strings.HasPrefix(text[body:], pemDash) {
		return Match{}, false
	}
	body += len(pemDash)
	end := body
	for {
		d := strings.Index(text[end:], pemDash)
		if d < 0 {
			end = pemLines(text, body)
			break
		}
		end += d
		if strings.HasPrefix(text[end:], pemEnd) {
			break
		}
		if strings.HasPrefix(text[end:], pemBegin) {
			end = pemLines(text, body)
			break
		}
		end += len(pemDash)
	}
	if text[body:end] == pemMask || strings.TrimSpace(text[body:end]) == "" {
		return Match{}, false
	}
	return Match{Start: body, End: end, pem: true}, true
}

// pemLines returns the end of the lines behind i that consist of base64, or are
// headers of an encrypted key. Line ends may be written as \n; a line of 40
// characters and more needs none before it.
func pemLines(text string, i int) int {
	end := i
	for {
		start, broken := lineBreak(text, end)
		stop := start
		for stop < len(text) && (alnum(text[stop]) || text[stop] == '+' || text[stop] == '/' || text[stop] == '=') {
			stop++
		}
		if strings.HasPrefix(text[start:], "Proc-Type:") || strings.HasPrefix(text[start:], "DEK-Info:") {
			for stop < len(text) && text[stop] >= ' ' && text[stop] != '\\' {
				stop++
			}
		}
		if stop == start || !broken && stop-start < 40 || !lineEnd(text, stop) {
			return end
		}
		end = stop
	}
}

// lineBreak returns the index behind the line ends and blanks at i, and whether
// there was a line end.
func lineBreak(text string, i int) (next int, broken bool) {
	for i < len(text) {
		switch {
		case text[i] == '\n' || text[i] == '\r':
			broken = true
			i = behindPrefix(text, i+1)
		case text[i] == ' ' || text[i] == '\t':
			i++
		case text[i] == '\\' && i+1 < len(text) && escapeLetter(text[i+1]):
			broken = true
			i += 2
		default:
			return i, broken
		}
	}
	return i, broken
}

// behindPrefix returns the index behind what quotes, differences, comments and
// listings put before the line at i: > + - # * |, or the line's number.
func behindPrefix(text string, i int) int {
	j := skipSpace(text, i)
	from := j
	for j < len(text) && j-from < 7 && digit(text[j]) {
		j++
	}
	for n := 0; n < 3 && j < len(text) && strings.IndexByte(">+-#*|:", text[j]) >= 0; n++ {
		j++
	}
	if j > from && j < len(text) && blank(text[j]) {
		return j
	}
	return i
}

// lineEnd reports whether a line of a key may end at i, which is not the case in
// the middle of prose.
func lineEnd(text string, i int) bool {
	if i >= len(text) || text[i] == '-' || quoteByte(text[i]) {
		return true
	}
	next, broken := lineBreak(text, i)
	return broken || next == len(text)
}
