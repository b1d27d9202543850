package redact

import "strings"

// maxUserinfo is the maximal distance of the @ of a URL from its ://.
const maxUserinfo = 512

// webhooks are addresses whose path is the only credential for posting.
var webhooks = []string{"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/", "discord.com/api/webhooks/",
	"discordapp.com/api/webhooks/", "ptb.discord.com/api/webhooks/", "canary.discord.com/api/webhooks/"}

// url matches the credential of a URL whose :// starts at text[i]: the path of a webhook,
// the password in its userinfo, or a userinfo that is a token.
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
	// A password may contain any character but blanks and quotes, so the last @ ends it. A
	// port or a path is not a password.
	const outside = control | space | quote | angle | backslash
	rest := upTo(text, from+maxUserinfo)
	stop := (outside | slash | query | atSign).until(rest, from)
	colon := strings.IndexByte(text[from:stop], ':')
	if (slash|query).at(rest, stop) && (colon < 0 || numeric(text[from+colon+1:stop])) {
		return Match{}
	}
	info := text[from:outside.until(rest, stop)]
	at := strings.LastIndexByte(info, '@')
	switch {
	case at < 0:
		return Match{}
	case colon >= 0:
		if v := info[colon+1 : at]; masked(v) || reference(v) {
			return Match{}
		}
		return Match{Start: from + colon + 1, End: from + at, hidden: true}
	}
	if v := text[from:stop]; len(v) < 20 || !dashed.all(v) || !digit.in(v) {
		return Match{}
	}
	return Match{Start: from, End: stop}
}
