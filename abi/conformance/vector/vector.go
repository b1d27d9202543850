// Package vector loads and plays conformance vectors: behaviour cases that cite the
// sections of the specification.
//
// A vector defines the configuration, the stored sessions, the calls, the agents'
// answers and the expected results. It is independent of the implementation: the same
// file tests the plugin's code natively, the module in an engine, and any other
// implementation of Fixture.
//
//	vectors, err := vector.Load(vectors.Files)
//	answers, problems := vector.Play(vectors[0], fixture, nil)
//
// Package refhost implements Fixture in memory. Before a host serves a new version of
// the plugin, it verifies the version with both packages.
package vector

import "github.com/parley-wasm/parley/abi"

// DefaultNow is the start time of a vector without "now": 2026-02-10T12:00:00Z.
const DefaultNow = 1770724800000

// DefaultCaller is the calling session of a vector without "caller".
const DefaultCaller = "agent:main:main"

// Vector is one behaviour case. A file of vectors is an array of
//
//	{
//	  "id": "S2.1/limit-default",      stable, unique; before the slash its main section
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
//	  "cost": {"calls", "bytes"},      upper bounds of host calls and of bytes of replies
//	  "expect": {…},                   see Expect
//	  "then": {…},                     see Then
//	  "sameAs": "id",                  the answers must equal those of that vector byte for byte
//	  "gap": "reason"                  the vector is known to fail; if it passes, the test fails
//	}
//
// "steps", an array of Step, replaces call, follow, cost and expect. An argument
// {"$step": n, "path": pointer} takes its value from the answer of the n-th step
// (from 1) of the same vector. Generators (see Expand) are allowed in store, agents,
// args, argsText, expect and then. Any other member is an error.
//
// A vector has its own clock. Time passes only while a call waits, during afterMs, and
// after the last step until all work has finished. Only the agents' turns take time, as
// the script defines. The host chooses the ids of runs,
// flows and deliveries: expectations use matchers for them.
type Vector struct {
	ID     string
	File   string // relative to the folder loaded
	Spec   []string
	About  string
	Now    int64
	Config []byte    // JSON object
	Store  *Contents // read-only: vectors that name the same store share it
	Caller abi.Caller
	Agents Script
	Before []Before
	Steps  []Step
	Then   *Then
	SameAs string
	Gap    string

	store any // the member "store" of the file, until Store is set
}

// Writes reports whether the vector needs a fixture that supports more than calls of
// read-only tools.
func (v *Vector) Writes() bool {
	for i := range v.Steps {
		s := &v.Steps[i]
		if s.Tool == abi.ToolSend || s.Tool == abi.ToolSpawn || s.Patch != nil || s.Message != nil || s.Abort || s.Restart {
			return true
		}
	}
	return v.Agents != nil || v.Before != nil || v.Then != nil
}

// Step is one action of a vector, with its expectation:
//
//	{
//	  "call", "follow", "cost", "expect",   as in a vector, and
//	  "callId": "c-1",          the caller's id of the call (S4.4)
//	  "caller": …,              replaces the vector's caller
//	  "abandonAfterMs": 1000    the client disconnects after that time
//	}
//
// or, instead of a call, one of
//
//	{"patch": {…}}              a change of a session, see Patch
//	{"message": {…}, "expect"}  an incoming message from a channel, see Inbound
//	{"kill": {"runId"}}         the operator aborts a run
//	{"restart": true}           the gateway shuts down in an orderly way, and starts again
//
// Each may have "afterMs": the time that passes before the step. Of these forms only
// messages have an expect.
type Step struct {
	AfterMs        int64
	Tool           string
	Args           []byte // raw bytes that the caller sends; nil when args is set
	args           any    // parsed, with references to earlier answers
	CallID         string
	Caller         *abi.Caller // nil: the caller of the vector
	AbandonAfterMs int64
	Patch          *Patch
	Message        *Inbound
	Abort          bool
	Restart        bool
	Follow         *Follow
	Cost           *Cost
	Expect         Expect
}

// Name returns the step's name in reports.
func (s *Step) Name() string {
	switch {
	case s.Patch != nil:
		return "patch"
	case s.Message != nil:
		return "message"
	case s.Abort:
		return "kill"
	case s.Restart:
		return "restart"
	}
	return s.Tool
}

// Cost bounds the host calls of one tool call, and the bytes of their replies.
type Cost struct {
	Calls, Bytes int
}

// Follow repeats a call until the member From is missing from its answer; the value of
// From becomes the argument To of the next call. The expectation then applies to
// {"pages": number of calls, "items": the concatenated arrays at Collect}. With Front,
// each page is placed before the earlier ones.
type Follow struct {
	From, To, Collect string // JSON Pointer, name of an argument, JSON Pointer
	Front             bool
}

// Expect is the expectation of a call: one of
//
//	{"result": value}      exactly this result
//	{"match": pattern}     a result that matches, see Match
//	{"failure": {"code"?, "contains"?, "lacks"?}}  a result {status, error} (S0.1); the status follows from the code
//	{"error": {…}}         the plugin's step fails, or the host refuses the call before the step
//	{"refused": {…}}       a failure or an error
//	{"config": {…}}        the configuration is refused; if the implementation does not validate it,
//	                       the call must fail, or its result match the member "else"
//	{"abandoned": true}    the client disconnected before the answer
type Expect struct {
	form    string
	value   any
	Code    abi.Code
	failure failureText
}

// Form returns the name of the expectation's member.
func (e *Expect) Form() string { return e.form }

// failureText is the expected text of a failure.
type failureText struct {
	contains, lacks []any // parts that must, and must not, occur in the text
	otherwise       any   // pattern of a successful result that is also accepted, or nil
}
