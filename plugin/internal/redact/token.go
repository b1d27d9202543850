package redact

import "strings"

// charset says which characters continue a token.
type charset uint8

const (
	alphanumeric charset = iota // A-Z a-z 0-9
	wordlike                    // and _
	dashed                      // and _ -
	dotted                      // and _ - .
)

func (s charset) has(c byte) bool {
	return alnum(c) || s >= wordlike && c == '_' || s >= dashed && c == '-' || s == dotted && c == '.'
}

// known is a token that its issuer marks with a prefix.
type known struct {
	prefix string
	min    int // characters behind the prefix
	set    charset
	digit  bool // and they are no words: the prefix alone is a common one
}

// The known tokens by the last character of their prefixes.
var (
	dashTokens = []known{{"sk-", 16, dashed, true}, {"glpat-", 16, dashed, false}, {"xoxb-", 10, dashed, false}, {"xoxp-", 10, dashed, false},
		{"xoxa-", 10, dashed, false}, {"xoxr-", 10, dashed, false}, {"xoxs-", 10, dashed, false}, {"xoxe-", 10, dashed, false},
		{"xapp-", 10, dashed, false}, {"xai-", 20, dashed, true}, {"pypi-", 30, dashed, false}, {"pplx-", 20, alphanumeric, false},
		{"nvapi-", 20, dashed, false}, {"AGE-SECRET-KEY-", 20, alphanumeric, false},
		{"GOCSPX-", 20, dashed, false}, {"tskey-", 16, dashed, true}, {"PMAK-", 24, dashed, false}, {"NRAK-", 20, alphanumeric, false},
		{"glrt-", 16, dashed, true}, {"gldt-", 16, dashed, true}, {"tvly-", 16, dashed, true}}
	lineTokens = []known{{"ghp_", 16, alphanumeric, false}, {"gho_", 16, alphanumeric, false}, {"ghu_", 16, alphanumeric, false},
		{"ghs_", 16, alphanumeric, false}, {"ghr_", 16, alphanumeric, false}, {"github_pat_", 16, wordlike, false},
		{"sk_live_", 10, alphanumeric, false}, {"sk_test_", 10, alphanumeric, false}, {"rk_live_", 10, alphanumeric, false},
		{"rk_test_", 10, alphanumeric, false}, {"gsk_", 20, alphanumeric, false}, {"npm_", 20, alphanumeric, false}, {"hf_", 20, alphanumeric, false},
		{"whsec_", 16, alphanumeric, false}, {"r8_", 30, alphanumeric, false}, {"dop_v1_", 20, alphanumeric, false},
		{"shpat_", 20, alphanumeric, false}, {"glsa_", 20, wordlike, false}, {"dckr_pat_", 16, dashed, false}, {"lin_api_", 20, alphanumeric, false},
		{"sntrys_", 20, wordlike, true}, {"ntn_", 20, alphanumeric, true}, {"figd_", 20, dashed, true}, {"sbp_", 20, alphanumeric, true},
		{"phx_", 20, alphanumeric, true}}
	dotTokens = []known{{"SG.", 20, dotted, true}, {"ya29.", 20, dotted, false}, {"hvs.", 20, dashed, false}, {"hvb.", 20, dashed, false}}
	// These begin with their rarest character.
	capitalTokens = []known{{"AIza", 30, dashed, false}, {"ATATT3x", 33, dashed, false}}
	jTokens       = []known{{"ops_eyJ", 20, dashed, false}}
)

// token matches a known token whose prefix ends at text[i], a JSON Web Token, an
// AWS, Google, Atlassian or Databricks key, a bot token of Discord, what follows
// Bearer, or the password of a .netrc.
func token(text string, i int) (Match, bool) {
	switch text[i] {
	case '-':
		return knownToken(dashTokens, text, i)
	case '_':
		return knownToken(lineTokens, text, i)
	case '.':
		if m, ok := discord(text, i); ok {
			return m, true
		}
		return knownToken(dotTokens, text, i)
	case 'p':
		if i+1 < len(text) && text[i+1] == 'a' {
			return netrc(text, i)
		}
		return databricks(text, i)
	case 'J':
		if m, ok := knownToken(jTokens, text, i); ok {
			return m, true
		}
		return jsonWebToken(text, i-len("ey"))
	case 'A':
		if !boundary(text, i) {
			return Match{}, false
		}
		for k := range capitalTokens {
			p := &capitalTokens[k]
			if end := i + len(p.prefix) + p.min; strings.HasPrefix(text[i:], p.prefix) && run(text, i, p.set, end-i) == end {
				return Match{Start: i, End: widen(text, end)}, true
			}
		}
		return awsKeyID(text, i)
	}
	return bearer(text, i)
}

// knownToken matches one of the list whose prefix ends at text[i].
func knownToken(list []known, text string, i int) (Match, bool) {
	for k := range list {
		p := &list[k]
		start := i + 1 - len(p.prefix)
		if start < 0 || text[start] != p.prefix[0] || text[start:i+1] != p.prefix || !boundary(text, start) {
			continue
		}
		end := run(text, i+1, p.set, maxLook)
		if end-i-1 >= p.min && (!p.digit || hasDigit(text[i+1:end]) && !wordy(text[i+1:end])) {
			return Match{Start: start, End: widen(text, end)}, true
		}
	}
	return Match{}, false
}

// maxLook is how much of a token decides whether it is one: tokens may follow
// each other without a blank, and each is looked at.
const maxLook = 512

// run returns the end of the characters of a set that begin at i, at most limit.
func run(text string, i int, set charset, limit int) int {
	limit = min(len(text), i+limit)
	for i < limit && set.has(text[i]) {
		i++
	}
	return i
}

// widen takes in what hangs on a token without a break, so that no second token
// starts right behind a mask. A dot belongs only with a word behind it.
func widen(text string, end int) int {
	for end < len(text) && (dashed.has(text[end]) || text[end] == '.' && end+1 < len(text) && dashed.has(text[end+1])) {
		end++
	}
	return end
}

func hasDigit(s string) bool {
	for i := 0; i < len(s); i++ {
		if digit(s[i]) {
			return true
		}
	}
	return false
}

// awsKeyID matches AKIA or ASIA with exactly 16 capitals and digits.
func awsKeyID(text string, i int) (Match, bool) {
	if !strings.HasPrefix(text[i:], "AKIA") && !strings.HasPrefix(text[i:], "ASIA") {
		return Match{}, false
	}
	end := i + 4
	for end < len(text) && (upper(text[end]) || digit(text[end])) {
		end++
	}
	if end != i+20 || end < len(text) && word(text[end]) {
		return Match{}, false
	}
	return Match{Start: i, End: widen(text, end)}, true
}

// jsonWebToken matches eyJ…, a dot, a second part, a dot and maybe a third.
func jsonWebToken(text string, i int) (Match, bool) {
	if i < 0 || !strings.HasPrefix(text[i:], "eyJ") || !boundary(text, i) {
		return Match{}, false
	}
	end := run(text, i, dashed, maxLook)
	if end-i < 10 || end >= len(text) || text[end] != '.' {
		return Match{}, false
	}
	second := end + 1
	end = run(text, second, dashed, len(text))
	if end-second < 8 || end >= len(text) || text[end] != '.' {
		return Match{}, false
	}
	return Match{Start: i, End: widen(text, end)}, true
}

// telegram matches a bot token around the colon at text[i]: 6 to 12 digits before
// it and at least 30 characters behind.
func telegram(text string, i int) (Match, bool) {
	start := i
	for start > 0 && i-start < 13 && digit(text[start-1]) {
		start--
	}
	if n := i - start; n < 6 || n > 12 || !boundary(text, start) && !strings.HasSuffix(text[:start], "bot") {
		return Match{}, false
	}
	end := run(text, i+1, dashed, len(text))
	if end-i-1 < 30 {
		return Match{}, false
	}
	return Match{Start: start, End: end}, true
}

// discord matches a bot token of Discord around its first dot, at text[i]: 24 to
// 28 characters, six, and at least 27.
func discord(text string, i int) (Match, bool) {
	if i+34 >= len(text) || text[i+7] != '.' || run(text, i+1, dashed, 6) != i+7 {
		return Match{}, false
	}
	start := i
	for start > 0 && i-start < 29 && dashed.has(text[start-1]) {
		start--
	}
	end := run(text, i+8, dashed, len(text))
	if n := i - start; n < 24 || n > 28 || end-i-8 < 27 || wordy(text[start:end]) {
		return Match{}, false
	}
	return Match{Start: start, End: widen(text, end)}, true
}

// databricks matches dapi and 32 hexadecimal digits, at the p.
func databricks(text string, i int) (Match, bool) {
	start := i - len("da")
	if start < 0 || !strings.HasPrefix(text[start:], "dapi") || !boundary(text, start) {
		return Match{}, false
	}
	end := i + len("pi")
	for end < len(text) && hexDigit(text[end]) {
		end++
	}
	if end-start != len("dapi")+32 {
		return Match{}, false
	}
	return Match{Start: start, End: widen(text, end)}, true
}
