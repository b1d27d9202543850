package policy

import (
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Target returns the destination of the session's deliveries (S9), and false if it has
// none.
//
// The sources are, in this order, the session's delivery context, its fields LastChannel,
// LastTo, LastAccountID and LastThreadID, and the key of a group. Target uses the first
// source that is Deliverable, and adds only a missing account and thread, from other
// sources of the same channel. If the key of a group names a channel, sources of other
// channels are ignored.
func Target(s *abi.Session) (abi.Target, bool) {
	group, isGroup := sessionkey.ParseGroup(s.Key)
	sources := [...]abi.Target{
		s.DeliveryContext,
		{Channel: s.LastChannel, To: s.LastTo, AccountID: s.LastAccountID, ThreadID: s.LastThreadID},
		{Channel: group.Channel, To: group.ID, ThreadID: group.ThreadID},
	}
	for _, t := range sources {
		if !Deliverable(t) || isGroup && group.Channel != "" && !sameChannel(t.Channel, group.Channel) {
			continue
		}
		for _, other := range sources {
			if sameChannel(other.Channel, t.Channel) {
				fill(&t.AccountID, other.AccountID)
				fill(&t.ThreadID, other.ThreadID)
			}
		}
		return t, true
	}
	return abi.Target{}, false
}

// Deliverable reports whether a target has a recipient and a channel that is a chat.
func Deliverable(t abi.Target) bool {
	return t.To != "" && t.Channel != "" && !sameChannel(t.Channel, ChannelInternal) && !sameChannel(t.Channel, ChannelUnknown)
}

// sameChannel reports whether two names denote the same channel. It ignores case, because
// sources write one name in different cases.
func sameChannel(a, b string) bool { return strings.EqualFold(a, b) }
