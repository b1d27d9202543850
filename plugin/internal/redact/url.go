package redact

import "strings"

// maxUserinfo is how far the @ of a URL may be.
const maxUserinfo = 512

// webhooks are addresses whose path is all it takes to post there.
var webhooks = []string{"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/", "discord.com/api/webhooks/",
	"discordapp.com/api/webhooks/", "ptb.discord.com/api/webhooks/", "canary.discord.com/api/webhooks/"}

// url matches the credential of a URL, at the colon of its "://": the path of a
// webhook, the password of its userinfo, or a userinfo that is a token.
func url(text string, i int) Match {
	from := i + len("://")
	for _, w := range webhooks {
		if strings.HasPrefix(text[from:], w) {
			start := from + len(w)
			end := (dashed | slash).span(text, start)
			if end-start < longEnough {
				return Match{}
			}
			return Match{Start: start, End: end}
		}
	}
	// A password may hold everything but blanks and quotes: the last @ counts. A
	// port and a path are none.
	const outside = control | space | quote | angle | backslash
	rest := text[from:outside.until(upTo(text, from+maxUserinfo), from)]
	at := strings.IndexByte(rest, '@')
	if at < 0 {
		return Match{}
	}
	info := rest[:at]
	slash := strings.IndexAny(info, "/?#")
	if slash < 0 {
		slash = at
	}
	colon := strings.IndexByte(info[:slash], ':')
	switch {
	case slash < at && (colon < 0 || numeric(info[colon+1:slash])):
		return Match{}
	case colon >= 0:
		start, end := from+colon+1, from+strings.LastIndexByte(rest, '@')
		if v := text[start:end]; masked(v) || reference(v) {
			return Match{}
		}
		return Match{Start: start, End: end, hidden: true}
	case len(info) < 20 || !dashed.all(info) || !digit.in(info):
		return Match{}
	}
	return Match{Start: from, End: from + at}
}
