package conversation

import "encoding/json"

// Round is a message with the results of its calls. A message without calls is a
// round without results.
type Round struct {
	Message
	Results []*Message // parallel to Calls; nil: no result yet
}

// Rounds groups messages into rounds. It searches only the preceding assistant message
// for a result's call, because another message may use the same call id. It omits
// results without a call and messages that Parse does not accept.
func Rounds(messages []json.RawMessage) []*Round {
	var rounds []*Round
	for _, raw := range messages {
		m, ok := Parse(raw)
		switch {
		case !ok:
		case m.Role != ToolResult:
			rounds = append(rounds, newRound(m))
		case len(rounds) > 0:
			rounds[len(rounds)-1].add(&m)
		}
	}
	return rounds
}

func newRound(m Message) *Round {
	return &Round{Message: m, Results: make([]*Message, len(m.Calls))}
}

func (r *Round) add(result *Message) {
	for i, c := range r.Calls {
		if c.ID == result.CallID && r.Results[i] == nil {
			r.Results[i] = result
			return
		}
	}
}

// Complete removes the calls that have no result, and then the rounds that are empty:
// endpoints reject both.
func Complete(rounds []*Round) []*Round {
	var complete []*Round
	for _, r := range rounds {
		kept := &Round{Message: r.Message}
		kept.Calls = nil
		for i, result := range r.Results {
			if result != nil {
				kept.Calls = append(kept.Calls, r.Calls[i])
				kept.Results = append(kept.Results, result)
			}
		}
		if kept.Text != "" || len(kept.Calls) > 0 {
			complete = append(complete, kept)
		}
	}
	return complete
}
