package host

import (
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/step"
)

// The types below belong to internal packages and are part of this package's API.
type (
	// PluginFile is a module to be installed as the active version.
	PluginFile = module.File
	// Verified describes how a module was verified before it became active.
	Verified = module.Verified
	// Limits bound the resources of one plugin step.
	Limits = engine.Limits
	// EffectLimits bound how many runs and deliveries one step may queue.
	EffectLimits = step.Limits
	// StepRecord is the recording of one step: its input, host calls and output.
	StepRecord = step.Record
	// Message is an inbound message for Send.
	Message = chat.Message
	// AgentRequest asks StartAgent for one run of a session's agent.
	AgentRequest = chat.AgentRequest
	// Accepted identifies the run that answers a message or request.
	Accepted = chat.Accepted
	// SessionPatch changes settings of a session.
	SessionPatch = chat.Patch
)
