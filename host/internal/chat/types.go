package chat

import "github.com/parley-wasm/parley/abi"

// Message is an inbound message from a chat channel (chat.send): the session's
// agent answers it, and the answer is delivered to the session's target (S9).
type Message struct {
	SessionKey string // any form of a key (S1.1, S1.2)
	Text       string
	From       string     // the sender's id on the channel; empty: the operator writes
	Target     abi.Target // the message's origin; becomes the session's target
	RequestID  string     // makes repetitions of the same message one request; may be empty
}

// AgentRequest asks for one run of a session's agent (agent).
type AgentRequest struct {
	SessionKey string
	Message    string
	Deliver    bool   // deliver the reply to the session's target (S9)
	RequestID  string // as in Message
}

// Values of Accepted.Status.
const (
	StatusAccepted = "accepted" // the message is stored; a run will answer it
	StatusOK       = "ok"       // the message was a command and was executed
)

// Accepted is the answer to an accepted message.
type Accepted struct {
	RunID  string // empty if the message was a command
	Status string // StatusAccepted or StatusOK
	Reply  string // the answer to a command
}

// Patch changes a session's settings (sessions.patch). A nil field leaves a setting
// unchanged; an empty text unsets it.
type Patch struct {
	Key           string
	SendPolicy    *string // allow, deny; empty: unset (S8.2)
	Label         *string
	DisplayName   *string
	Model         *string // model for runs in this session
	ThinkingLevel *string
	VerboseLevel  *string
	Archived      *bool
}
