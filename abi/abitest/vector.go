package abitest

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
//	  "config": {"session", "tools", "agents"},   absent = defaults
//	  "store": {"sessions": […]} | "name",        see Contents; a name is a file in stores/
//	  "caller": {…abi.Caller…} | "operator" | "agent:main:main",
//	  "call": {"tool", "args"} | {"tool", "argsText"} | {"tool", "argsBase64"},
//	  "follow": {…},                   see Follow
//	  "cost": {"calls", "bytes"},      at most so many host calls with replies of so many bytes
//	  "expect": {…},                   see Expect
//	  "sameAs": "id",                  the answers are byte for byte those of that vector
//	  "gap": "reason"                  known not to pass yet; passing is then a failure
//	}
//
// In place of call, follow, cost and expect, "steps" holds an array of objects with
// them. An argument {"$step": n, "path": pointer} is taken from the answer of
// the n-th step (from 1) of the same vector. Generators (see Expand) may stand
// in store, args, argsText and expect. Members that are not named here are
// errors.
type Vector struct {
	ID     string
	File   string // relative to the folder loaded
	Spec   []string
	About  string
	Now    int64
	Config []byte    // JSON object
	Store  *Contents // never changed; shared by the vectors that name the same one
	Caller abi.Caller
	Steps  []Step
	SameAs string
	Gap    string
}

// Step is one call of a vector with what must come of it.
type Step struct {
	Tool   string
	Args   []byte // raw text as the caller sends it; nil when args is set
	args   any    // parsed, with references to earlier answers
	Follow *Follow
	Cost   *Cost
	Expect Expect
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
type Expect struct {
	form    string
	value   any
	Code    abi.Code
	problem problem
}

// problem is what a failure's text must and must not mention.
type problem struct {
	contains, lacks []any
	otherwise       any // pattern of a result that is no failure, or nil
}
