package abi

import "github.com/parley-wasm/parley/abi/jsonappend"

// StatusRequest asks the import agent how a run stands.
// Reply: {"run": {…} | null}.
type StatusRequest struct {
	RunID string
}

// AppendJSON appends the request's JSON.
func (r *StatusRequest) AppendJSON(b []byte) []byte {
	o := open(b, OpStatus)
	o.String("runId", r.RunID)
	return o.Close()
}

// Run is an agent run as the plugin sees it. Times are milliseconds, 0 until
// they are known.
type Run struct {
	ID        string
	Status    string // queued, running, done, failed, killed, timeout
	Reply     string
	Error     string
	Model     string
	StartedAt int64
	EndedAt   int64
}

// AppendJSON appends the run's JSON.
func (r *Run) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.String("id", r.ID)
	o.String("status", r.Status)
	o.OptString("reply", r.Reply)
	o.OptString("error", r.Error)
	o.OptString("model", r.Model)
	o.OptInt("startedAt", r.StartedAt)
	o.OptInt("endedAt", r.EndedAt)
	return o.Close()
}

// AppendRunReply appends the reply of status; nil is no run.
func AppendRunReply(b []byte, r *Run) []byte {
	b = append(b, `{"ok":{"run":`...)
	if r == nil {
		b = append(b, "null"...)
	} else {
		b = r.AppendJSON(b)
	}
	return append(b, "}}"...)
}
