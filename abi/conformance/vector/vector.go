// Package vector holds conformance vectors: behaviour cases that cite the sections
// of the specification, and what it takes to play them.
//
// A vector says what is configured, what is stored, who calls what, how agents
// answer, and what must come of it. It says nothing about how that is made, so
// that the same file tests the plugin's code natively, the module in an engine,
// and any later implementation: whatever is a World.
//
//	vectors, err := vector.Load(vectors.Files)
//	answers, problems := vector.Play(vectors[0], world, nil)
//
// Package refhost has a World in memory. A program verifies a new version of the
// plugin with both, before it serves.
package vector

import "github.com/parley-wasm/parley/abi"

// DefaultNow is a vector's time when it names none: 2026-02-10T12:00:00Z.
const DefaultNow = 1770724800000

// DefaultCaller is who calls when a vector names nobody.
const DefaultCaller = "agent:main:main"

// Vector is one behaviour case. Its file holds an array of
//
//	{
//	  "id": "S2.1/limit-default",      stable, unique; before the slash what it is about most
//	  "spec": ["S2.1", "S2.2"],        the sections it tests
//	  "about": "…",                    one sentence
//	  "now": 1770724800000,            ms; absent = DefaultNow
//	  "config": {"session", "tools", "agents", "models", "runs", "delivery"},   absent = defaults
//	  "store": {"sessions": […]} | "name",        see Contents; a name is a file in stores/
//	  "caller": {…abi.Caller…} | "operator" | "agent:main:main",
//	  "agents": {"agent:main:main": […]},         see Script
//	  "before": [{"sessionKey", "takesMs"}],      see Before
//	  "call": {"tool", "args"} | {"tool", "argsText"} | {"tool", "argsBase64"},
//	  "follow": {…},                   see Follow
//	  "cost": {"calls", "bytes"},      at most so many host calls with replies of so many bytes
//	  "expect": {…},                   see Expect
//	  "then": {…},                     see Then
//	  "sameAs": "id",                  the answers are byte for byte those of that vector
//	  "gap": "reason"                  known not to pass yet; passing is then a failure
//	}
//
// In place of call, follow, cost and expect, "steps" holds an array of Step. An
// argument {"$step": n, "path": pointer} is taken from the answer of the n-th
// step (from 1) of the same vector. Generators (see Expand) may stand in store,
// agents, args, argsText, expect and then. Members that are not named here are
// errors.
//
// Time in a vector is its own: it passes only while a call waits, where afterMs
// says so, and after the last step until nothing is under way. What agents do
// takes the time that the script says, everything else takes none. Ids of runs,
// flows and deliveries are the host's: expectations use matchers for them.
type Vector struct {
	ID     string
	File   string // relative to the folder loaded
	Spec   []string
	About  string
	Now    int64
	Config []byte    // JSON object
	Store  *Contents // never changed; shared by the vectors that name the same one
	Caller abi.Caller
	Agents Script
	Before []Before
	Steps  []Step
	Then   *Then
	SameAs string
	Gap    string

	store any // as it stands in the file, until Store is made of it
}

// Writes reports whether the vector needs a world in which something happens
// besides the answers of read-only tools.
func (v *Vector) Writes() bool {
	for i := range v.Steps {
		s := &v.Steps[i]
		if s.Tool == abi.ToolSend || s.Tool == abi.ToolSpawn || s.Patch != nil || s.Message != nil || s.Kill || s.Restart {
			return true
		}
	}
	return v.Agents != nil || v.Before != nil || v.Then != nil
}

// Step is one thing that happens in a vector, with what must come of it:
//
//	{
//	  "call", "follow", "cost", "expect",   as in a vector, and
//	  "callId": "c-1",          the caller's name for the call (S4.4)
//	  "caller": …,              somebody else than the vector's caller
//	  "abandonAfterMs": 1000    the client goes away after that time
//	}
//
// or, in place of a call, one of
//
//	{"patch": {…}}              a change of a session, see Patch
//	{"message": {…}, "expect"}  a message comes in from a channel, see Inbound
//	{"kill": {"runId"}}         the operator aborts a run
//	{"restart": true}           the gateway ends as if it had been told to, and comes up again
//
// each with "afterMs": the time that passes before it. Of these only messages have
// an expect.
type Step struct {
	AfterMs        int64
	Tool           string
	Args           []byte // raw text as the caller sends it; nil when args is set
	args           any    // parsed, with references to earlier answers
	CallID         string
	Caller         *abi.Caller // nil: the vector's
	AbandonAfterMs int64
	Patch          *Patch
	Message        *Inbound
	Kill           bool
	Restart        bool
	Follow         *Follow
	Cost           *Cost
	Expect         Expect
}

// Name is what a report calls the step.
func (s *Step) Name() string {
	switch {
	case s.Patch != nil:
		return "patch"
	case s.Message != nil:
		return "message"
	case s.Kill:
		return "kill"
	case s.Restart:
		return "restart"
	}
	return s.Tool
}

// Cost bounds what one call asks of the host.
type Cost struct {
	Calls, Bytes int
}

// Follow repeats a call until the member From is missing from its answer: each
// time its value becomes the argument To. The expectation is then about
// {"pages": number of calls, "items": the arrays at Collect, joined}; Front
// joins each page before the one that came earlier.
type Follow struct {
	From, To, Collect string // JSON Pointer, name of an argument, JSON Pointer
	Front             bool
}

// Expect says what must come of a call: one of
//
//	{"result": value}      exactly this result
//	{"match": pattern}     a result that matches, see Match
//	{"failure": {"code"?, "contains"?, "lacks"?}}  a result {status, error} (S0.1); the status follows from the code
//	{"error": {…}}         the step, or the host before it, fails
//	{"refused": {…}}       either of the two
//	{"config": {…}}        the configuration is refused; where it is not read, the call fails closed,
//	                       or its result matches the member "else"
//	{"abandoned": true}    the client went away before there was an answer
type Expect struct {
	form    string
	value   any
	Code    abi.Code
	problem problem
}

// Form is the name of the expectation's member.
func (e *Expect) Form() string { return e.form }

// problem is what a failure's text must and must not mention.
type problem struct {
	contains, lacks []any
	otherwise       any // pattern of a result that is no failure, or nil
}
