// Package abi is the contract between a Parley plugin and the program that
// hosts it: the names of exports and imports, the JSON messages that cross the
// boundary, the error codes, and the schemas of the tools. README.md in this folder
// is the normative text; the package depends on gjson beside the standard library, and
// builds with Go and TinyGo.
//
// Each message is a struct with a table of its members (package jsonobject), which is
// its encoder, its decoder and its strict check: plugin and host read and write it by the
// same rows. A side that takes in what it cannot trust reads strictly: the plugin its
// inputs, the host requests and step results. The plugin reads replies tolerantly, and a
// host its stored rows, because these may get members.
package abi

// Version is the ABI version that both sides name in every exchange.
const Version = 1

// Exports of a plugin. Each follows the Extism convention: no parameters, an
// i32 result (0 = ok), input and output through the Extism environment.
const (
	ExportDescribe = "describe"
	ExportDerive   = "derive"
	ExportCall     = "call"
	ExportResume   = "resume"
)

// ExportInput and DirectReply are the direct way of moving bytes, which a host may
// take instead of the Extism environment: README.md, "Direct memory".
const (
	ExportInput = "parley_input" // (length i32) -> (pointer i32)
	DirectReply = 1 << 63        // in the argument of an import: copy the pending reply to this pointer
)

// ImportModule holds the three families of host functions, each (i64) → i64
// over JSON. EnvModule is the Extism environment itself.
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

// Capabilities are the operations of the host functions, each with its import, as a
// description's capabilities name them.
var Capabilities = []string{
	ImportStore + "." + OpGet, ImportStore + "." + OpResolve, ImportStore + "." + OpList, ImportStore + "." + OpHistory,
	ImportStore + "." + OpCreate, ImportStore + "." + OpArchive, ImportStore + "." + OpDelete,
	ImportAgent + "." + OpStatus, ImportAgent + "." + OpWaits, ImportAgent + "." + OpRun,
	ImportDeliver + "." + OpSend,
}

// Writes lists, by import, the operations that record an effect. Every other
// operation reads.
var Writes = map[string][]string{
	ImportStore:   {OpCreate, "patch", OpArchive, OpDelete},
	ImportAgent:   {OpRun, "abort"},
	ImportDeliver: {OpSend},
}

// IsWrite reports whether op of the import family records an effect.
func IsWrite(family, op string) bool {
	for _, w := range Writes[family] {
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
	MaxString       = 64 << 10 // a longer JSON string of a message is cut by the host (see Cut)
	MaxMessage      = 1 << 20  // a longer message is shortened further, or emptied (see Cut)
	DefaultMaxBytes = 1 << 20  // reply of list and history when maxBytes is absent
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
	MaxName         = 200      // characters of a model, or of a level of thinking
	MaxHops         = 8        // flows that may lead to one another (S5.6)
)
