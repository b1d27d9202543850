package send

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/announce"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

// announce starts the announce run, or ends the flow if the announce is skipped.
func (f *sendFlow) announce() error {
	why := f.skipReason()
	if why == "" && f.reply == "" {
		why = "there is no first reply"
	}
	if why == "" {
		run := abi.RunRequest{Message: announceRequest(f), Context: announceContext(f), NoTools: true, TimeoutSeconds: announce.Seconds}
		refusal, err := f.start(f.to, f.from, &run)
		if err != nil {
			return err
		}
		if refusal == nil {
			f.phase = phaseAnnounce
			f.request, f.reply, f.latest, f.latestTurn = "", "", "", 0
			f.wait(f.loop() + "; waiting for the announce of " + f.target)
			return nil
		}
		why = because("refused", refusal)
	}
	f.End(f.loop() + "; announce skipped (" + why + ")")
	return nil
}

// skipReason returns why the announce will be skipped, or "". It covers the reasons that are
// known before the reply-back loop ends.
func (f *sendFlow) skipReason() string {
	switch {
	case f.quiet:
		return `announce is "none"`
	case f.toSelf():
		return "the session sent to itself"
	case f.to.key != "":
		return f.to.unavailable()
	}
	return ""
}

// post delivers the answer of the announce run (S4.7).
func (f *sendFlow) post(run *abi.Run) error {
	how := "announce queued"
	switch {
	case run.Status != abi.RunDone:
		how = "announce failed (its run " + guest.Outcome(run.Status) + ")"
	case run.Reply == "":
		how = "announce skipped (empty)"
	case run.Reply == announce.Skip:
		how = "announce skipped (" + announce.Skip + ")"
	default:
		_, err := f.Client.Send(&abi.SendRequest{SessionKey: f.target, Text: transcript.TruncateText(run.Reply, abi.MaxText), RunID: run.ID})
		refusal, err := guest.Refusal(err)
		if err != nil {
			return err
		}
		if refusal != nil {
			how = "announce not posted (" + because("refused", refusal) + ")"
		}
	}
	f.End(f.loop() + "; " + how)
	return nil
}
