package sessionkey

import "strings"

// Group holds the parts of the key of a group chat (S1.1, S9).
type Group struct {
	Channel  string // empty when the key names none
	ChatType string // group or channel
	ID       string
	ThreadID string // from a :thread: or :topic: suffix
}

// ParseGroup parses the key of a group chat: its <rest> contains :group: or :channel:
// followed by an id (S1.6). The channel is the first word of the rest, so that forms
// with an account between channel and type are parsed too.
func ParseGroup(key string) (Group, bool) {
	_, rest, ok := Split(key)
	if !ok {
		return Group{}, false
	}
	before, chatType, id := splitChatType(rest)
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

// splitChatType splits rest at its first word that is group or channel and is followed
// by a colon.
func splitChatType(rest string) (before, chatType, id string) {
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
