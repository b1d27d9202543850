package chat

import (
	"cmp"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/store"
)

// session returns the request's session, or a new one that is not yet stored.
func (s *Service) session(tx store.Tx, r *request, id string, now int64) (*abi.Session, error) {
	session, err := tx.Session(r.key)
	if err != nil {
		return nil, err
	}
	if session == nil {
		return &abi.Session{
			Key: r.key, AgentID: r.agentID, Kind: sessionkey.Kind(r.key),
			// The transaction may be retried and must then create the same session.
			SessionID: store.DeriveUUID(s.options.Store.Secret(), "session", id), UpdatedAt: now,
		}, nil
	}
	if session.ArchivedAt != 0 {
		return nil, invalid("session %q is archived and takes no messages; unarchive it first (sessions.patch, archived: false)", r.key)
	}
	return session, nil
}

// target checks a message's origin and lower-cases its channel name.
func target(t abi.Target) (abi.Target, error) {
	for _, f := range [...]struct {
		name string
		text *string
	}{{"channel", &t.Channel}, {"to", &t.To}, {"accountId", &t.AccountID}, {"threadId", &t.ThreadID}} {
		var err error
		if *f.text, err = checkID(f.name, *f.text); err != nil {
			return t, err
		}
	}
	t.Channel = strings.ToLower(t.Channel)
	if t.Channel == "" && !t.IsZero() {
		return t, invalid("channel is missing; to, accountId and threadId need a channel")
	}
	return t, nil
}

// recordTarget makes a message's origin the destination of the session's replies (S9).
// It ignores the internal and unknown channels. An origin without a recipient keeps
// the known recipient of the same channel.
func recordTarget(s *abi.Session, t abi.Target) {
	switch t.Channel {
	case "", policy.ChannelInternal, policy.ChannelUnknown:
		return
	}
	if known := policy.DeliveryContext(s); t.To == "" && t.Channel == known.Channel {
		t.To, t.AccountID, t.ThreadID = known.To, cmp.Or(t.AccountID, known.AccountID), cmp.Or(t.ThreadID, known.ThreadID)
	}
	s.LastChannel, s.LastTo, s.LastAccountID, s.LastThreadID = t.Channel, t.To, t.AccountID, t.ThreadID
	s.DeliveryContext = t
}
