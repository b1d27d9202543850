package send

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

// Values of status in a result (S4.3).
const (
	statusAccepted = "accepted"
	statusOK       = "ok"
	statusTimeout  = "timeout"
	statusError    = "error"
)

// Values of delivery.message and delivery.announce (S4.3).
const (
	messageStored   = "stored"
	messageStarted  = "started"
	messageAnswered = "answered"

	announcePending = "pending"
	announceSkipped = "skipped"
)

// maxError bounds a run's error text in a result, in characters.
const maxError = 2000

// maxReply bounds the reply in a result, in bytes of JSON. Hosts bound the output of a
// step; a larger output would leave the caller without an answer.
const maxReply = 3 << 20

// answer is a result of the tool (S4.3).
type answer struct {
	run     string
	status  string
	reply   string // of statusOK
	problem string // of statusTimeout and statusError
	message string
	code    abi.Code
}

// runAnswer returns the answer for a first run that has ended.
func runAnswer(run *abi.Run) *answer {
	a := &answer{run: run.ID, status: statusOK, reply: run.Reply, message: messageAnswered}
	if run.Status == abi.RunDone {
		return a
	}
	a.status, a.code = statusError, abi.Internal
	a.problem = "the message was received, but the run that answers it " + guest.Outcome(run.Status)
	if run.Error != "" {
		a.problem += ": " + transcript.Excerpt(run.Error, maxError)
	}
	if run.StartedAt != 0 {
		a.problem += "; sessions_history shows how far it came"
	}
	return a
}

// timeoutAnswer returns the answer for a caller whose timeout expired before the run ended.
func timeoutAnswer(run *abi.Run) *answer {
	return &answer{run: run.ID, status: statusTimeout, message: received(run),
		problem: "no answer in time. The message was received and its run continues: do not send it again, read the answer later with sessions_history"}
}

// cancelAnswer returns the answer for the caller of a cancelled flow.
func cancelAnswer(run *abi.Run) *answer {
	return &answer{run: run.ID, status: statusError, code: abi.Internal, message: received(run),
		problem: "waiting for the answer was cancelled. The message was received: do not send it again, sessions_history shows its answer once there is one"}
}

// received returns the delivery state of the message.
func received(run *abi.Run) string {
	switch run.Status {
	case abi.RunQueued:
		return messageStored
	case abi.RunRunning:
		return messageStarted
	}
	return messageAnswered
}

// answer sets the result for the caller. The step must call wait or End first, because
// delivery.announce depends on whether the flow continues.
func (f *sendFlow) answer(a *answer) {
	announce := announceSkipped
	if f.Out.Wait != nil && f.skipReason() == "" {
		announce = announcePending
	}
	o := jsonappend.Open(nil)
	o.String("runId", a.run)
	o.String("status", a.status)
	if a.status == statusOK {
		transcript.FitTexts(maxReply, &a.reply)
		o.String("reply", a.reply)
	}
	o.OptString("error", a.problem)
	o.String("sessionKey", f.View.Show(f.target))
	d := jsonappend.Open(o.Key("delivery"))
	d.String("message", a.message)
	d.String("announce", announce)
	o.Value(d.Close())
	f.Out.Result, f.Out.Code, f.answered = o.Close(), a.code, true
}
