package redact

import "strings"

// telegram matches a Telegram bot token around the colon at text[i]: 6 to 12 digits before
// it and at least 30 characters after it.
func telegram(text string, i int) Match {
	start := digit.back(text, i, 13)
	if n := i - start; n < 6 || n > 12 || !boundary(text, start) && !strings.HasSuffix(text[:start], "bot") {
		return Match{}
	}
	end := dashed.span(text, i+1)
	if end-i-1 < 30 {
		return Match{}
	}
	return Match{Start: start, End: end}
}

// discord matches a Discord bot token around its first dot, at text[i]. The three parts of
// the token have 24 to 28, 6, and at least 27 characters.
func discord(text string, i int) Match {
	if i+34 >= len(text) || text[i+7] != '.' || dashed.spanMax(text, i+1, 6) != i+7 {
		return Match{}
	}
	start, end := dashed.back(text, i, 29), dashed.span(text, i+8)
	if n := i - start; n < 24 || n > 28 || end-i-8 < 27 || wordy(text[start:end]) {
		return Match{}
	}
	return Match{Start: start, End: widen(text, end)}
}
