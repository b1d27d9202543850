package redact

// shape describes tokens of one kind, which have a prefix that their issuer defines.
type shape struct {
	prefixes []string
	after    int  // number of characters of the prefix after its trigger
	set      set  // the characters after the prefix
	min      int  // minimal number of characters after the prefix
	never    set  // if set, exactly min characters follow the prefix, and then none of never
	digit    bool // must contain a digit and not be words, because the prefix is common
}

// shapes are the known tokens by the trigger in their prefixes. The trigger is the last
// character of the prefix unless that is a frequent character.
var shapes = [...][]shape{
	'-': {
		{prefixes: []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xapp-"}, set: dashed, min: 10},
		{prefixes: []string{"glpat-"}, set: dashed, min: 16},
		{prefixes: []string{"sk-", "tskey-", "glrt-", "gldt-", "tvly-"}, set: dashed, min: 16, digit: true},
		{prefixes: []string{"nvapi-", "GOCSPX-"}, set: dashed, min: 20},
		{prefixes: []string{"xai-"}, set: dashed, min: 20, digit: true},
		{prefixes: []string{"PMAK-"}, set: dashed, min: 24},
		{prefixes: []string{"pypi-"}, set: dashed, min: 30},
		{prefixes: []string{"pplx-", "AGE-SECRET-KEY-", "NRAK-"}, set: alnum, min: 20},
	},
	'_': {
		{prefixes: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"}, set: alnum, min: 10},
		{prefixes: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "whsec_"}, set: alnum, min: 16},
		{prefixes: []string{"gsk_", "npm_", "hf_", "dop_v1_", "shpat_", "lin_api_"}, set: alnum, min: 20},
		{prefixes: []string{"ntn_", "sbp_", "phx_"}, set: alnum, min: 20, digit: true},
		{prefixes: []string{"r8_"}, set: alnum, min: 30},
		{prefixes: []string{"github_pat_"}, set: word, min: 16},
		{prefixes: []string{"glsa_"}, set: word, min: 20},
		{prefixes: []string{"sntrys_"}, set: word, min: 20, digit: true},
		{prefixes: []string{"dckr_pat_"}, set: dashed, min: 16},
		{prefixes: []string{"figd_"}, set: dashed, min: 20, digit: true},
	},
	'.': {
		{prefixes: []string{"hvs.", "hvb."}, set: dashed, min: 20},
		{prefixes: []string{"ya29."}, set: dotted, min: 20},
		{prefixes: []string{"SG."}, set: dotted, min: 20, digit: true},
	},
	'A': {
		{prefixes: []string{"AKIA", "ASIA"}, after: 3, set: upper | digit, min: 16, never: word},
		{prefixes: []string{"AIza"}, after: 3, set: dashed, min: 30},
		{prefixes: []string{"ATATT3x"}, after: 6, set: dashed, min: 33},
	},
	'J': {{prefixes: []string{"ops_eyJ"}, set: dashed, min: 20}},
	'p': {{prefixes: []string{"dapi"}, after: 1, set: hex, min: 32, never: hex}},
}

// maxLook is the maximal number of characters that are examined to recognize a token. It
// bounds the time for a sequence of tokens without blanks.
const maxLook = 512

// least is the minimal number of characters of a known token from its trigger on.
const least = 10

// token matches a known token whose trigger is at text[i].
func token(text string, i int) Match {
	if !dotted.at(text, i+least) || !dotted.at(text, i+least/2) {
		return Match{} // excludes most words after a hyphen, an underscore or a dot
	}
	rows := shapes[text[i]]
	for k := range rows {
		s := &rows[k]
		body := i + 1 + s.after
		for _, p := range s.prefixes {
			start := body - len(p)
			if start >= 0 && text[start] == p[0] && boundary(text, start) && body <= len(text) && text[start:body] == p {
				if end := s.end(text, body); end > body {
					return Match{Start: start, End: widen(text, end)}
				}
			}
		}
	}
	return Match{}
}

// end returns the end of the token whose characters after the prefix begin at text[i], or i
// if they do not have the shape.
func (s *shape) end(text string, i int) int {
	most := maxLook
	if s.never != 0 {
		most = s.min
	}
	end := s.set.spanMax(text, i, most)
	if v := text[i:end]; len(v) < s.min || s.never.at(text, end) || s.digit && (!digit.in(v) || wordy(v)) {
		return i
	}
	return end
}

// widen extends a token to the word characters that follow it, so that no second token
// starts right after a mask. A dot belongs to the token only before a word character.
func widen(text string, end int) int {
	for dashed.at(text, end) || dot.at(text, end) && dashed.at(text, end+1) {
		end++
	}
	return end
}
