package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonobject"
)

// DeriveRequest is the input of the export "derive": a session and the settings from
// which the plugin derives the session context. AppendJSON writes only the session
// members that README.md, section 4, lists, as its section 2 requires of every host.
type DeriveRequest struct {
	Session Session
	Target  *Target // destination to check; nil: the session's own
	Config  []byte  // JSON object with all settings that the host has
}

var deriveMembers = jsonobject.New(
	jsonobject.Required("abi", anything, func(*DeriveRequest) any { return version{} }),
	jsonobject.Required("session", object, func(r *DeriveRequest) any { return (*sessionV1)(&r.Session) }),
	jsonobject.Optional("target", object, func(r *DeriveRequest) any { return jsonobject.Maybe(&r.Target) }),
	jsonobject.Optional("config", anything, func(r *DeriveRequest) any { return &r.Config }),
)

// sessionV1 is the session of a derive request. It omits the members that sessionMembers
// lists after transcriptPath, because a request must not have them.
type sessionV1 Session

var sessionV1Members = sessionMembers.UpTo("transcriptPath")

func (s *sessionV1) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return sessionV1Members.Read(v, (*Session)(s), mode)
}

func (s *sessionV1) AppendJSON(b []byte) []byte { return sessionV1Members.Append(b, (*Session)(s)) }

// ReadJSON reads the JSON that AppendJSON writes. Config is a slice of the document.
func (r *DeriveRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return deriveMembers.Read(v, r, mode)
}

// AppendJSON appends the input's JSON.
func (r *DeriveRequest) AppendJSON(b []byte) []byte { return deriveMembers.Append(b, r) }

// SessionContext is the result of the export "derive": everything that the plugin derives
// from a session and the settings.
type SessionContext struct {
	AgentID string
	Kind    string // one of the six kinds, main included (S1.6)
	Hidden  bool   // never listed or found (S1.2, S1.3)
	Channel string // channel that tools show and policy rules match (S1.7)
	Receive error  // reason why messages may not enter the session (S8.1); nil: they may
	Deliver error  // reason why nothing is delivered for the session (S8.3, S9); nil: Target is used
	Target  Target // destination of deliveries; zero: none
	Caller  Caller // caller of a call that the session makes
}

// AppendResult appends {"result": context}, the output of derive.
func (c *SessionContext) AppendResult(b []byte) []byte {
	o := jsonappend.Open(b)
	r := jsonappend.Open(o.Key("result"))
	r.String("agentId", c.AgentID)
	r.String("kind", c.Kind)
	r.Bool("hidden", c.Hidden)
	r.String("channel", c.Channel)
	receive := openDecision(r.Key("receive"), c.Receive)
	r.Value(receive.Close())
	deliver := openDecision(r.Key("deliver"), c.Deliver)
	if !c.Target.IsZero() {
		deliver.Value(c.Target.AppendJSON(deliver.Key("target")))
	}
	r.Value(deliver.Close())
	r.Value(c.Caller.AppendJSON(r.Key("caller")))
	o.Value(r.Close())
	return o.Close()
}

// openDecision starts the object {allowed, reason?}. The caller must close it.
func openDecision(b []byte, reason error) jsonappend.Object {
	o := jsonappend.Open(b)
	o.Bool("allowed", reason == nil)
	if reason != nil {
		o.String("reason", reason.Error())
	}
	return o
}
