package refhost

import (
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// States of a delivery.
const (
	deliveryPending   = "pending"
	deliveryDelivered = "delivered"
	deliverySkipped   = "skipped"
)

// deliver schedules the posting of a text to the channel of a session (S4.7, S8.3, S9).
// The scheduled event determines the target, if d has none, and evaluates the send policy.
// If f is not nil, f records the status of the delivery.
func (h *Host) deliver(d *vector.DeliveryOutcome, f *hostFlow) {
	d.Status = deliveryPending
	h.deliveries = append(h.deliveries, d)
	h.schedule(h.now, orderRun, func() {
		defer func() {
			if f != nil {
				f.delivery = d.Status
			}
		}()
		session := h.session(d.SessionKey)
		if session == nil {
			d.Status, d.Error = deliverySkipped, "the session does not exist"
			return
		}
		if d.Target.IsZero() {
			target, ok := targetOf(session)
			if !ok {
				d.Status, d.Error = deliverySkipped, "the session has no target"
				return
			}
			d.Target = target
		}
		if err := h.settings.checkPolicy(session, d.Channel); err != nil {
			d.Status, d.Error = deliverySkipped, err.Error()
			return
		}
		d.Status = deliveryDelivered
	})
}

// targetOf returns the delivery target of a session (S9): the first source that has a
// channel and an address. The other sources only add an account or a thread, if they
// have the same channel.
func targetOf(s *abi.Session) (abi.Target, bool) {
	sources := []abi.Target{
		s.DeliveryContext,
		{Channel: s.LastChannel, To: s.LastTo, AccountID: s.LastAccountID, ThreadID: s.LastThreadID},
	}
	group, isGroup := sessionkey.ParseGroup(s.Key)
	if isGroup {
		sources = append(sources, abi.Target{Channel: group.Channel, To: group.ID, ThreadID: group.ThreadID})
	}
	usable := sources[:0]
	for _, t := range sources {
		if !isGroup || strings.EqualFold(t.Channel, group.Channel) {
			usable = append(usable, t)
		}
	}
	for _, t := range usable {
		if t.Channel == "" || t.To == "" || strings.EqualFold(t.Channel, policy.ChannelInternal) || strings.EqualFold(t.Channel, policy.ChannelUnknown) {
			continue
		}
		for _, other := range usable {
			if strings.EqualFold(other.Channel, t.Channel) {
				fillIn(&t.AccountID, other.AccountID)
				fillIn(&t.ThreadID, other.ThreadID)
			}
		}
		return t, true
	}
	return abi.Target{}, false
}

func fillIn(field *string, other string) {
	if *field == "" {
		*field = other
	}
}
