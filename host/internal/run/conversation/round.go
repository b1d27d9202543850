package conversation

import "encoding/json"

// Round is a message with the results of its calls. A message without calls is a
// round without results.
type Round struct {
	Message
	Results []*Message // of Calls, in their order; nil: not there
}

// Rounds puts the results in messages with the calls that they belong to: those
// of the assistant message before, since ids need not be unique beyond it.
// Results without a call, and what Parse does not know, are left out.
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

// Complete leaves out the calls that have no result, and then the rounds in which
// nothing is left: what an endpoint would refuse to read.
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
