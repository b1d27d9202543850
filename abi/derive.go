package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonobject"
)

// DeriveRequest is the derive request, the input of the export "derive": a session and the
// settings, for which the plugin returns the session context. AppendJSON sends only the
// session members of version 1, as README.md, section 2, requires of every host.
type DeriveRequest struct {
	Session Session
	Target  *Target // destination to check instead of the session's own; nil: the session's
	Config  []byte  // JSON object with all settings that the host has
}

var questionMembers = jsonobject.New(
	jsonobject.Required("abi", anything, func(*DeriveRequest) any { return version{} }),
	jsonobject.Required("session", object, func(q *DeriveRequest) any { return (*sessionV1)(&q.Session) }),
	jsonobject.Optional("target", object, func(q *DeriveRequest) any { return jsonobject.Maybe(&q.Target) }),
	jsonobject.Optional("config", anything, func(q *DeriveRequest) any { return &q.Config }),
)

// sessionV1 is the session of a derive request. Members that stored sessions get after
// version 1 follow transcriptPath in the table; the request must not have them.
type sessionV1 Session

var sessionV1Members = sessionMembers.UpTo("transcriptPath")

func (s *sessionV1) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return sessionV1Members.Read(v, (*Session)(s), mode)
}

func (s *sessionV1) AppendJSON(b []byte) []byte { return sessionV1Members.Append(b, (*Session)(s)) }

// ReadJSON reads the JSON that AppendJSON writes. Config is a slice of the document.
func (q *DeriveRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return questionMembers.Read(v, q, mode)
}

// AppendJSON appends the input's JSON.
func (q *DeriveRequest) AppendJSON(b []byte) []byte { return questionMembers.Append(b, q) }

// SessionContext is the session context: everything that the plugin derives from a session and
// the settings. It is the result of the export "derive".
type SessionContext struct {
	AgentID string
	Kind    string // one of the six kinds, main included (S1.6)
	Hidden  bool   // never listed or found (S1.2, S1.3)
	Channel string // shown for the session, and matched by policy rules (S1.7)
	Receive error  // reason why messages may not enter the session (S8.1); nil: they may
	Deliver error  // reason why nothing is delivered for the session (S8.3, S9); nil: Target is used
	Target  Target // destination of deliveries; zero: none
	Caller  Caller // caller of a call that the session makes
}

// AppendResult appends {"result": context}, the output of derive.
func (f *SessionContext) AppendResult(b []byte) []byte {
	o := jsonappend.Open(b)
	r := jsonappend.Open(o.Key("result"))
	r.String("agentId", f.AgentID)
	r.String("kind", f.Kind)
	r.Bool("hidden", f.Hidden)
	r.String("channel", f.Channel)
	receive := openDecision(r.Key("receive"), f.Receive)
	r.Value(receive.Close())
	deliver := openDecision(r.Key("deliver"), f.Deliver)
	if !f.Target.IsZero() {
		deliver.Value(f.Target.AppendJSON(deliver.Key("target")))
	}
	r.Value(deliver.Close())
	r.Value(f.Caller.AppendJSON(r.Key("caller")))
	o.Value(r.Close())
	return o.Close()
}

func openDecision(b []byte, reason error) jsonappend.Object {
	o := jsonappend.Open(b)
	o.Bool("allowed", reason == nil)
	if reason != nil {
		o.String("reason", reason.Error())
	}
	return o
}
