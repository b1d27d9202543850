package spawn

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/announce"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

// report takes a report to where it goes: the requester's channel as it was when
// it spawned, or its session (S5.6). runID is the run whose answer it is.
func (f *errand) report(text, runID string) error {
	if why := f.gone(); why != "" {
		return f.stored(why)
	}
	if f.announce == toChannel && f.hasChannel() {
		_, err := f.Client.Send(&abi.SendRequest{SessionKey: f.requester, Text: text, RunID: runID, AtCall: true})
		return f.sent(err, "announce queued")
	}
	id, err := f.Client.Run(&abi.RunRequest{
		SessionKey: f.requester, Message: text, Context: f.reportContext(), Source: f.child, Group: abi.GroupNested,
	})
	refusal, err := guest.Refusal(err)
	switch {
	case err != nil:
		return err
	case refusal != nil:
		return f.stored("refused: " + refusal.Error())
	}
	f.phase, f.run = phaseParent, id
	f.wait("reported to " + f.View.Show(f.requester) + "; waiting for its answer")
	return nil
}

// hasChannel reports whether the requester had a channel when it spawned.
func (f *errand) hasChannel() bool {
	c := &f.In.Caller
	return policy.Deliverable(abi.Target{Channel: c.Channel, To: c.To})
}

// parentEnded delivers the requester's answer to its channel (S5.6).
func (f *errand) parentEnded(run *abi.Run) error {
	switch {
	case run.StartedAt == 0: // it was never told
		return f.stored("the report's run " + guest.Outcome(run.Status) + " before its turn")
	case run.Status != abi.RunDone:
		return f.finish("reported; the requester's answer " + guest.Outcome(run.Status))
	case run.Reply == "":
		return f.finish("reported; the requester answered nothing")
	case run.Reply == announce.Skip:
		return f.finish("reported; the requester is silent (" + announce.Skip + ")")
	}
	if _, ok := f.speaks(); !ok {
		return f.finish("reported; the requester answered, and has no channel")
	}
	_, err := f.Client.Send(&abi.SendRequest{SessionKey: f.requester, Text: transcript.CutText(run.Reply, abi.MaxText), RunID: run.ID})
	return f.sent(err, "reported; answer queued")
}

// speaks returns the requester's channel as it is now, if there is one (S9).
func (f *errand) speaks() (abi.Target, bool) {
	if f.from == nil {
		return abi.Target{}, false
	}
	return policy.Target(f.from)
}

// sent finishes after a delivery was asked for.
func (f *errand) sent(err error, how string) error {
	refusal, err := guest.Refusal(err)
	switch {
	case err != nil:
		return err
	case refusal != nil:
		return f.stored("refused: " + refusal.Error())
	}
	return f.finish(how)
}

// stored finishes where nobody is told. The result is in the child's transcript,
// which is therefore kept, and archived like any other.
func (f *errand) stored(why string) error {
	how := "stored only (" + why + ")"
	if f.deletes {
		f.deletes = false
		how += ", and therefore kept"
	}
	return f.finish(how)
}
