// Package abi is the contract between a Parley plugin and its host: the names of
// exports and imports, the JSON messages that cross the boundary, the error codes, and
// the schemas of the tools. README.md in this folder is the normative text. The package
// imports the standard library and gjson only, and builds with Go and TinyGo.
//
// Each message is a struct with a table of its members (package jsonobject). The table
// is the message's encoder, decoder and strict check, and plugin and host share it.
// Untrusted JSON is read strictly: inputs by the plugin, requests and step results by the
// host. The plugin reads replies tolerantly, and a host reads stored rows tolerantly,
// because later versions may add members to them.
package abi

// Version is the ABI version, the member "abi" of every input and description.
const Version = 1

// Exports of a plugin. Each follows the Extism convention: no parameters, an
// i32 result (0 = ok), input and output through Extism kernel calls.
const (
	ExportDescribe = "describe"
	ExportDerive   = "derive"
	ExportCall     = "call"
	ExportResume   = "resume"
)

// ExportInput and DirectReply belong to direct memory, which a host may use instead of
// Extism kernel calls to move bytes: README.md, section 7.
const (
	ExportInput = "parley_input" // (length i32) -> (pointer i32)
	DirectReply = 1 << 63        // flag in the argument of an import: copy the pending reply to the pointer in the lower half
)

// ImportModule holds the host functions, one per namespace: store, agent and deliver.
// Each is (i64) → i64 over JSON. EnvModule holds the Extism kernel functions.
const (
	ImportModule  = "extism:host/user"
	ImportStore   = "store"
	ImportAgent   = "agent"
	ImportDeliver = "deliver"

	EnvModule = "extism:host/env"
)

// Operations of the host functions.
const (
	OpGet     = "get"     // store
	OpResolve = "resolve" // store
	OpList    = "list"    // store
	OpHistory = "history" // store
	OpCreate  = "create"  // store, a write
	OpArchive = "archive" // store, a write
	OpDelete  = "delete"  // store, a write
	OpStatus  = "status"  // agent
	OpWaits   = "waits"   // agent
	OpRun     = "run"     // agent, a write
	OpSend    = "send"    // deliver, a write
)

// Capabilities lists the operations of the host functions as "namespace.operation", the
// form of a description's capabilities.
var Capabilities = []string{
	ImportStore + "." + OpGet, ImportStore + "." + OpResolve, ImportStore + "." + OpList, ImportStore + "." + OpHistory,
	ImportStore + "." + OpCreate, ImportStore + "." + OpArchive, ImportStore + "." + OpDelete,
	ImportAgent + "." + OpStatus, ImportAgent + "." + OpWaits, ImportAgent + "." + OpRun,
	ImportDeliver + "." + OpSend,
}

// Writes lists, by namespace, the operations that record an effect. Every other
// operation reads. "patch" and "abort" are reserved for later tools.
var Writes = map[string][]string{
	ImportStore:   {OpCreate, "patch", OpArchive, OpDelete},
	ImportAgent:   {OpRun, "abort"},
	ImportDeliver: {OpSend},
}

// IsWrite reports whether op of the namespace records an effect.
func IsWrite(namespace, op string) bool {
	for _, w := range Writes[namespace] {
		if w == op {
			return true
		}
	}
	return false
}

// Names of the tools.
const (
	ToolList    = "sessions_list"
	ToolHistory = "sessions_history"
	ToolAgents  = "agents_list"
	ToolSend    = "sessions_send"
	ToolSpawn   = "sessions_spawn"
)

// Limits of version 1, in bytes unless said otherwise.
const (
	MaxState        = 64 << 10 // opaque state of a wait
	MaxString       = 64 << 10 // a longer JSON string of a message is truncated by the host (see Truncation)
	MaxMessage      = 1 << 20  // a longer message is truncated further, or emptied (see Truncation)
	DefaultMaxBytes = 1 << 20  // largest reply of list and history when maxBytes is absent
	MaxDepth        = 64       // levels of nesting in any JSON document
	MaxSafeInteger  = 1 << 53  // largest magnitude of a number
	MaxSessionKey   = 512      // bytes of a session key or reference
	MaxListLimit    = 1000     // rows of one list reply
	MaxHistoryLimit = 1000     // messages of one history reply
	MaxListMessages = 20       // messages per row of a list reply
	MaxEffects      = 16       // effects that one step may record
	MaxText         = 1 << 20  // message of a run, its context, text of a delivery
	MaxNote         = 1 << 10  // note of a step result
	MaxLabel        = 64       // characters of a session's label
	MaxName         = 200      // characters of a model name or a thinking level
	MaxHops         = 8        // length of a chain of flows, in which a run of each flow calls the next (S5.6)
)
