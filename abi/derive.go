package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Question is the input of the export "derive": what follows from this session under
// these settings? AppendJSON sends the members of a session that version 1 has and no
// others, as README.md, section 2, demands of every host.
type Question struct {
	Session Session
	Target  *Target // when it is about another one than the session's
	Config  []byte  // JSON object with all members that the host has
}

var questionMembers = jsonobject.New(
	jsonobject.Required("abi", anything, func(*Question) any { return version{} }),
	jsonobject.Required("session", object, func(q *Question) any { return (*asked)(&q.Session) }),
	jsonobject.Optional("target", object, func(q *Question) any { return jsonobject.Maybe(&q.Target) }),
	jsonobject.Optional("config", anything, func(q *Question) any { return &q.Config }),
)

// asked is the session in a question, an input of version 1: members that a stored
// session gets later stand behind transcriptPath in its table, and are no part of it.
type asked Session

var askedMembers = sessionMembers.UpTo("transcriptPath")

func (a *asked) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return askedMembers.Read(v, (*Session)(a), mode)
}

func (a *asked) AppendJSON(b []byte) []byte { return askedMembers.Append(b, (*Session)(a)) }

// ReadJSON reads what AppendJSON wrote. Config is a part of the document that is read.
func (q *Question) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return questionMembers.Read(v, q, mode)
}

// AppendJSON appends the input's JSON.
func (q *Question) AppendJSON(b []byte) []byte { return questionMembers.Append(b, q) }

// Facts are what follows from a session and the settings: the result of the export
// "derive".
type Facts struct {
	AgentID string
	Kind    string // with main sessions told apart (S1.6)
	Hidden  bool   // never listed, never found (S1.2, S1.3)
	Channel string // that it is shown with, and that rules are asked about (S1.7)
	Receive error  // why no message may enter it (S8.1); nil: one may
	Deliver error  // why nothing is delivered for it (S8.3, S9); nil: to Target
	Target  Target // zero: there is none
	Caller  Caller // who speaks as it
}

// AppendResult appends {"result": facts}, the output of derive.
func (f *Facts) AppendResult(b []byte) []byte {
	o := jsonappend.Open(b)
	r := jsonappend.Open(o.Key("result"))
	r.String("agentId", f.AgentID)
	r.String("kind", f.Kind)
	r.Bool("hidden", f.Hidden)
	r.String("channel", f.Channel)
	receive := openVerdict(r.Key("receive"), f.Receive)
	r.Value(receive.Close())
	deliver := openVerdict(r.Key("deliver"), f.Deliver)
	if !f.Target.IsZero() {
		deliver.Value(f.Target.AppendJSON(deliver.Key("target")))
	}
	r.Value(deliver.Close())
	r.Value(f.Caller.AppendJSON(r.Key("caller")))
	o.Value(r.Close())
	return o.Close()
}

func openVerdict(b []byte, reason error) jsonappend.Object {
	o := jsonappend.Open(b)
	o.Bool("allowed", reason == nil)
	if reason != nil {
		o.String("reason", reason.Error())
	}
	return o
}
