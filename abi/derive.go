package abi

import "github.com/parley-wasm/parley/abi/jsonappend"

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
