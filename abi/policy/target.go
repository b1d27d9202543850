package policy

import (
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Target returns where what the session says is delivered (S9), and false when
// there is nowhere.
//
// The sources are the session's delivery context, its last* fields, and its key
// if that is a group's. The first one decides that has a channel to which
// something can be delivered, and who is meant there. Nothing is added to it from
// the others but an account and a thread, and those only from a source of the
// same channel. What a group's key names as its channel no other source
// contradicts: one that does is passed over.
func Target(s *abi.Session) (abi.Target, bool) {
	group, isGroup := sessionkey.ParseGroup(s.Key)
	sources := [...]abi.Target{
		s.DeliveryContext,
		{Channel: s.LastChannel, To: s.LastTo, AccountID: s.LastAccountID, ThreadID: s.LastThreadID},
		{Channel: group.Channel, To: group.ID, ThreadID: group.ThreadID},
	}
	for _, t := range sources {
		if !Deliverable(t) || isGroup && group.Channel != "" && !same(t.Channel, group.Channel) {
			continue
		}
		for _, other := range sources {
			if same(other.Channel, t.Channel) {
				fill(&t.AccountID, other.AccountID)
				fill(&t.ThreadID, other.ThreadID)
			}
		}
		return t, true
	}
	return abi.Target{}, false
}

// Deliverable reports whether something can be delivered to a target: it has a
// channel that is a chat, and says who is meant there.
func Deliverable(t abi.Target) bool {
	return t.To != "" && t.Channel != "" && !same(t.Channel, ChannelInternal) && !same(t.Channel, ChannelUnknown)
}

// same reports whether two names are of one channel. Sources write them as they
// like.
func same(a, b string) bool { return strings.EqualFold(a, b) }
