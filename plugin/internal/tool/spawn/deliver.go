package spawn

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/announce"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

// report sends a report to the requester's channel as it was at the spawn call, or into
// its session (S5.6). runID is the run that wrote the report.
func (f *spawnFlow) report(text, runID string) error {
	if why := f.unreachable(); why != "" {
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

// hasChannel reports whether the requester had a channel at the spawn call.
func (f *spawnFlow) hasChannel() bool {
	c := &f.In.Caller
	return policy.Deliverable(abi.Target{Channel: c.Channel, To: c.To})
}

// parentEnded delivers the requester's answer to its channel (S5.6).
func (f *spawnFlow) parentEnded(run *abi.Run) error {
	switch {
	case run.StartedAt == 0: // the requester never received the report
		return f.stored("the report's run " + guest.Outcome(run.Status) + " before its turn")
	case run.Status != abi.RunDone:
		return f.finish("reported; the requester's answer " + guest.Outcome(run.Status))
	case run.Reply == "":
		return f.finish("reported; the requester answered nothing")
	case run.Reply == announce.Skip:
		return f.finish("reported; the requester is silent (" + announce.Skip + ")")
	}
	if _, ok := f.target(); !ok {
		return f.finish("reported; the requester answered, and has no channel")
	}
	_, err := f.Client.Send(&abi.SendRequest{SessionKey: f.requester, Text: transcript.TruncateText(run.Reply, abi.MaxText), RunID: run.ID})
	return f.sent(err, "reported; answer queued")
}

// target returns the requester's current channel, if it has one (S9).
func (f *spawnFlow) target() (abi.Target, bool) {
	if f.from == nil {
		return abi.Target{}, false
	}
	return policy.Target(f.from)
}

// sent finishes the reporting after the request of a delivery, with the outcome how, or as
// stored does if the host refused the request. err is the error of the request.
func (f *spawnFlow) sent(err error, how string) error {
	refusal, err := guest.Refusal(err)
	switch {
	case err != nil:
		return err
	case refusal != nil:
		return f.stored("refused: " + refusal.Error())
	}
	return f.finish(how)
}

// stored finishes the reporting if the result cannot be reported. The result stays in the child's
// transcript, so the child is archived like any other and not deleted.
func (f *spawnFlow) stored(why string) error {
	how := "stored only (" + why + ")"
	if f.deletes {
		f.deletes = false
		how += ", and therefore kept"
	}
	return f.finish(how)
}
