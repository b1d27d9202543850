package host

import (
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/step"
)

// The types below belong to internal packages and are part of this package's API.
type (
	// PluginFile is a module to be installed as the active version: {Wasm, Origin,
	// Digest, Signature, Force}. Without Wasm, Digest names a stored version.
	PluginFile = module.File
	// Verified describes how a module was verified before it became active.
	Verified = module.Verified
	// Limits bound the resources of one plugin step: {Fuel, StepTimeout, MemoryMiB,
	// HostCalls, InMiB, OutMiB, LogLines, …}. Zero means the default.
	Limits = engine.Limits
	// EffectLimits bound how many runs and deliveries one step may queue: {Runs,
	// Deliveries}. Zero means 8.
	EffectLimits = step.Limits
	// StepRecord is the recording of one step: its input, host calls and output.
	StepRecord = step.Record
	// Message is an inbound message for Send: {SessionKey, Text, From, Target,
	// RequestID}. From is the sender's id on the channel; empty means the operator.
	// Target is the message's origin and becomes the session's target, to which answers
	// are delivered (S9). Repetitions with the same RequestID are one message.
	Message = chat.Message
	// AgentRequest asks StartAgent for one run of a session's agent: {SessionKey,
	// Message, Deliver, RequestID}. Deliver sends the answer to the session's target.
	AgentRequest = chat.AgentRequest
	// Accepted identifies the run that answers a message or request: {RunID, Status,
	// Reply}. RunID is empty if the message was a command, which Reply answers.
	Accepted = chat.Accepted
	// SessionPatch changes settings of a session: {Key, SendPolicy, Label, DisplayName,
	// Model, ThinkingLevel, VerboseLevel, Archived}. A nil field leaves a setting
	// unchanged; an empty text unsets it.
	SessionPatch = chat.Patch
)
