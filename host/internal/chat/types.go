package chat

import "github.com/parley-wasm/parley/abi"

// Message is an inbound message from a chat channel (chat.send): the session's
// agent answers it, and the answer goes to the session's target (S9).
type Message struct {
	SessionKey string // any form of a key (S1.1, S1.2)
	Text       string
	From       string // the sender's id on the channel; empty: the operator writes
	Target     abi.Target
	RequestID  string // the same id with the same message is the same request; empty: none
}

// AgentRequest asks for one run of a session's agent (agent).
type AgentRequest struct {
	SessionKey string
	Message    string
	Deliver    bool   // the reply goes to the session's target (S9)
	RequestID  string // as in Message
}

// What became of a message.
const (
	StatusAccepted = "accepted" // stored, and to be answered by a run
	StatusOK       = "ok"       // it was a command, and is carried out
)

// Accepted says that a message is stored and will be answered.
type Accepted struct {
	RunID  string // empty when the message was a command
	Status string // StatusAccepted or StatusOK
	Reply  string // what a command answers
}

// Patch changes settings of a session (sessions.patch). A nil field changes
// nothing; an empty text unsets.
type Patch struct {
	Key           string
	SendPolicy    *string // allow, deny; empty: unset (S8.2)
	Label         *string
	DisplayName   *string
	Model         *string // that runs here are to use
	ThinkingLevel *string
	VerboseLevel  *string
	Archived      *bool
}
