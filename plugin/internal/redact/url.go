package redact

import "strings"

// maxUserinfo is how far the @ of a URL may be.
const maxUserinfo = 512

// webhooks are addresses whose path is all it takes to post there.
var webhooks = []string{"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/", "discord.com/api/webhooks/",
	"discordapp.com/api/webhooks/", "ptb.discord.com/api/webhooks/", "canary.discord.com/api/webhooks/"}

// url matches the credential of a URL, at the colon of its "://": the path of a
// webhook, the password of its userinfo, or a userinfo that is a token.
func url(text string, i int) (Match, bool) {
	from := i + len("://")
	for _, w := range webhooks {
		if strings.HasPrefix(text[from:], w) {
			start := from + len(w)
			end := start
			for end < len(text) && (dashed.has(text[end]) || text[end] == '/') {
				end++
			}
			return Match{Start: start, End: end}, end-start >= longEnough
		}
	}
	// A password may hold everything but blanks and quotes: the last @ counts. A
	// port and a path are none.
	colon, at, slash := -1, -1, false
	for j := from; j < len(text) && j-from < maxUserinfo; j++ {
		c := text[j]
		if c <= ' ' || quoteByte(c) || c == '<' || c == '>' || c == '\\' {
			break
		}
		switch {
		case c == '@':
			at = j
		case c == ':' && colon < 0 && at < 0 && !slash:
			colon = j
		case (c == '/' || c == '?' || c == '#') && !slash && at < 0:
			if colon < 0 || numeric(text[colon+1:j]) {
				return Match{}, false
			}
			slash = true
		}
	}
	switch {
	case at < 0:
		return Match{}, false
	case colon >= 0:
		v := text[colon+1 : at]
		return Match{Start: colon + 1, End: at, hidden: true}, v != "" && !masked(v) && !reference(v)
	}
	end := run(text, from, dashed, maxUserinfo)
	return Match{Start: from, End: end}, end-from >= 20 && end < len(text) && text[end] == '@' && hasDigit(text[from:end])
}
