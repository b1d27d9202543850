package sessionkey

import "strings"

// Group is what the key of a group chat says (S1.1, S9).
type Group struct {
	Channel  string // empty when the key names none
	ChatType string // group or channel
	ID       string
	ThreadID string // from a :thread: or :topic: suffix
}

// ParseGroup reads the key of a group chat: one whose <rest> holds :group: or
// :channel: with an id behind it (S1.6). The channel is the first word of the
// rest, so that forms with an account between channel and type are understood.
func ParseGroup(key string) (Group, bool) {
	_, rest, ok := Split(key)
	if !ok {
		return Group{}, false
	}
	before, chatType, id := cutChatType(rest)
	if id == "" {
		return Group{}, false
	}
	channel, _, _ := strings.Cut(before, ":")
	g := Group{Channel: channel, ChatType: chatType, ID: id}
	for _, sep := range [...]string{":thread:", ":topic:"} {
		if i := strings.LastIndex(id, sep); i > 0 && i+len(sep) < len(id) {
			g.ID, g.ThreadID = id[:i], id[i+len(sep):]
			break
		}
	}
	return g, true
}

// cutChatType cuts rest around its first word that is group or channel and has
// something behind it.
func cutChatType(rest string) (before, chatType, id string) {
	for start := 0; ; {
		end := strings.IndexByte(rest[start:], ':')
		if end < 0 {
			return "", "", ""
		}
		end += start
		if word := rest[start:end]; word == "group" || word == "channel" {
			return rest[:start], word, rest[end+1:]
		}
		start = end + 1
	}
}
