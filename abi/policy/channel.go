package policy

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Channels that are not chats. Nothing is delivered to them.
const (
	ChannelInternal = "internal"
	ChannelUnknown  = "unknown"
)

// Channel returns the channel of a session of this kind (S1.6, S1.7).
func Channel(s *abi.Session, kind string) string {
	c := ""
	switch kind {
	case sessionkey.KindCron, sessionkey.KindHook, sessionkey.KindNode:
		return ChannelInternal
	case sessionkey.KindGroup:
		if c = s.Channel; c == "" {
			g, _ := sessionkey.ParseGroup(s.Key)
			c = g.Channel
		}
	default:
		if c = s.DeliveryContext.Channel; c == "" {
			c = s.LastChannel
		}
	}
	if c == "" {
		return ChannelUnknown
	}
	return c
}

// DeliveryContext returns the session's delivery context. LastChannel, LastTo,
// LastAccountID and LastThreadID replace its absent members, unless LastChannel is another
// channel.
func DeliveryContext(s *abi.Session) abi.Target {
	t := s.DeliveryContext
	if t.Channel != "" && s.LastChannel != "" && t.Channel != s.LastChannel {
		return t
	}
	fill(&t.Channel, s.LastChannel)
	fill(&t.To, s.LastTo)
	fill(&t.AccountID, s.LastAccountID)
	fill(&t.ThreadID, s.LastThreadID)
	return t
}

// fill sets an empty field to other.
func fill(field *string, other string) {
	if *field == "" {
		*field = other
	}
}
