package guest

import (
	"math"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/internal/render"
)

// kind is what the value of a member must be.
type kind uint8

const (
	text kind = iota
	whole
	number
	flag
	object
	anything
)

var kinds = [...]string{text: "a string", whole: "a whole number", number: "a number", flag: "true or false", object: "an object"}

func (k kind) holds(v gjson.Result) bool {
	switch k {
	case text:
		return v.Type == gjson.String
	case whole:
		return v.Type == gjson.Number && v.Num == math.Trunc(v.Num)
	case number:
		return v.Type == gjson.Number
	case flag:
		return v.IsBool()
	case object:
		return v.IsObject()
	}
	return true
}

// member is one that an object of an input may have.
type member struct {
	name     string
	kind     kind
	required bool
}

// theInput is what check calls the input itself.
const theInput = "it"

// check refuses an object of an input that has other members, members of another
// kind, or lacks one that is required: what is misspelt or of the wrong type would be
// read as absent, and that can be wider than what was meant. What follows reads it
// without looking again.
func check(v gjson.Result, what string, members []member) *abi.Error {
	if !v.IsObject() {
		return badInput(what + " must be an object")
	}
	of := what + "."
	if what == theInput {
		of = ""
	}
	var bad *abi.Error
	seen := 0 // a bit for each member
	v.ForEach(func(name, v gjson.Result) bool {
		i := 0
		for i < len(members) && members[i].name != name.Str {
			i++
		}
		switch {
		case i == len(members):
			bad = badInput(what + " has an unknown member " + render.Quote(name.Str))
		case !members[i].kind.holds(v):
			bad = badInput(of + name.Str + " must be " + kinds[members[i].kind])
		}
		seen |= 1 << i
		return bad == nil
	})
	for i := range members {
		if bad == nil && members[i].required && seen&(1<<i) == 0 {
			bad = badInput(of + members[i].name + " must be " + kinds[members[i].kind])
		}
	}
	return bad
}

var (
	inputMembers = []member{
		{"abi", anything, true}, {"flowId", text, false}, {"step", whole, false}, {"callId", text, false}, {"now", whole, false},
		{"acceptedAt", whole, false}, {"tool", text, false}, {"args", anything, false}, {"state", anything, false},
		{"stateVersion", whole, false}, {"event", anything, false}, {"caller", anything, false}, {"config", anything, false},
	}
	callerMembers = []member{
		{"sessionKey", text, false}, {"agentId", text, false}, {"channel", text, false}, {"to", text, false}, {"accountId", text, false},
		{"threadId", text, false}, {"sandboxed", flag, true}, {"depth", whole, true}, {"hops", whole, true}, {"runId", text, false},
		{"operator", flag, false},
	}
	eventMembers = []member{{"type", text, true}, {"at", whole, true}, {"run", object, false}}
	runMembers   = []member{
		{"id", text, true}, {"status", text, true}, {"reply", text, false}, {"error", text, false}, {"model", text, false},
		{"usage", object, false}, {"startedAt", whole, false}, {"endedAt", whole, false},
	}
	usageMembers    = []member{{"input", whole, false}, {"output", whole, false}, {"total", whole, false}, {"cost", number, false}}
	questionMembers = []member{{"abi", anything, true}, {"session", object, true}, {"target", object, false}, {"config", anything, false}}
	targetMembers   = []member{{"channel", text, false}, {"to", text, false}, {"accountId", text, false}, {"threadId", text, false}}
	sessionMembers  = []member{
		{"key", text, true}, {"agentId", text, false}, {"kind", text, false}, {"sessionId", text, false}, {"updatedAt", whole, false},
		{"label", text, false}, {"displayName", text, false}, {"subject", text, false}, {"chatType", text, false}, {"channel", text, false},
		{"deliveryContext", object, false}, {"lastChannel", text, false}, {"lastTo", text, false}, {"lastAccountId", text, false},
		{"lastThreadId", text, false}, {"model", text, false}, {"modelOverride", text, false}, {"contextTokens", whole, false},
		{"totalTokens", whole, false}, {"thinkingLevel", text, false}, {"verboseLevel", text, false}, {"systemSent", flag, false},
		{"abortedLastRun", flag, false}, {"sendPolicy", text, false}, {"spawnedBy", text, false}, {"sandboxed", flag, false},
		{"status", text, false}, {"archivedAt", whole, false}, {"transcriptPath", text, false},
	}
)
