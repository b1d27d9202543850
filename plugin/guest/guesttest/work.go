package guesttest

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Work records the runs, deliveries and child sessions that steps request from a
// Store. It enforces the rule that a step reads before it writes.
type Work struct {
	// Runs, Sent and Created are the requests of all steps, in order. The n-th run,
	// from 1, has the id run-n; the n-th child is subagent:n of its agent, with the
	// sessionId child-n.
	Runs    []abi.RunRequest
	Sent    []abi.SendRequest
	Created []abi.CreateRequest
	// Parent is the key of the session that spawns the children.
	Parent string
	// Status contains the replies to agent.status, by run id.
	Status map[string]*abi.Run
	// Waiting are the keys of the sessions that wait for the caller's run.
	Waiting []string
	// Refuse contains the errors with which writes are refused, by session key;
	// requests without a session key, such as store.create, use the key "".
	Refuse map[string]*abi.Error

	wrote bool
}

// Begin starts a new step, so that reads are allowed again.
func (w *Work) Begin() { w.wrote = false }

// call answers requests to the namespaces agent and deliver and writes to the store,
// and refuses a read after a write. It reports false for reads from the store.
func (w *Work) call(s *Store, namespace string, raw []byte) (reply []byte, done bool) {
	var q struct {
		Op             string
		RunID          string `json:"runId"`
		SessionKey     string
		Message        string
		Context        string
		Source         string
		Group          string
		NoTools        bool
		TimeoutSeconds int
		Text           string
		AtCall         bool
		AgentID        string `json:"agentId"`
		Label          string
		Model          string
		ThinkingLevel  string
		MaxActive      int
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		return abi.AppendError(nil, abi.InvalidArgs, err.Error()), true
	}
	if w.wrote && !abi.IsWrite(namespace, q.Op) {
		return abi.AppendError(nil, abi.Conflict, "a read after a write: "+string(raw)), true
	}
	switch namespace + "." + q.Op {
	case "agent.status":
		return abi.AppendReply(nil, &abi.StatusReply{Run: w.Status[q.RunID]}), true
	case "agent.waits":
		return abi.AppendReply(nil, &abi.WaitsReply{Waits: new(slices.Contains(w.Waiting, q.SessionKey))}), true
	}
	if !abi.IsWrite(namespace, q.Op) && namespace == abi.ImportStore {
		return nil, false
	}
	if e := w.Refuse[q.SessionKey]; e != nil {
		return abi.AppendError(nil, e.Code, e.Message), true
	}
	w.wrote = true
	switch namespace + "." + q.Op {
	case "agent.run":
		if !slices.ContainsFunc(s.Sessions, func(row abi.Session) bool { return row.Key == q.SessionKey && row.ArchivedAt == 0 }) {
			return abi.AppendError(nil, abi.NotFound, "session "+q.SessionKey+" does not exist"), true
		}
		w.Runs = append(w.Runs, abi.RunRequest{SessionKey: q.SessionKey, Message: q.Message, Context: q.Context, Source: q.Source,
			Group: q.Group, NoTools: q.NoTools, TimeoutSeconds: q.TimeoutSeconds})
		return abi.AppendReply(nil, &abi.RunReply{RunID: "run-" + strconv.Itoa(len(w.Runs))}), true
	case "store.create":
		w.Created = append(w.Created, abi.CreateRequest{AgentID: q.AgentID, Label: q.Label, Model: q.Model, ThinkingLevel: q.ThinkingLevel, MaxActive: q.MaxActive})
		id := strconv.Itoa(len(w.Created))
		child := abi.Session{Key: sessionkey.ChildOf(q.AgentID, id), SessionID: "child-" + id, UpdatedAt: 1, SpawnedBy: w.Parent, Label: q.Label, TranscriptPath: "/store/child-" + id + ".jsonl"}
		s.Sessions = append(s.Sessions, child)
		return abi.AppendReply(nil, &abi.CreateReply{SessionKey: child.Key, SessionID: child.SessionID}), true
	case "store.archive", "store.delete":
		i := slices.IndexFunc(s.Sessions, func(row abi.Session) bool { return row.Key == q.SessionKey })
		switch {
		case i < 0:
			return abi.AppendError(nil, abi.NotFound, "session "+q.SessionKey+" does not exist"), true
		case q.Op == abi.OpDelete:
			s.Sessions = slices.Delete(s.Sessions, i, i+1)
		default:
			s.Sessions[i].ArchivedAt = 1
		}
		return abi.AppendDoneReply(nil), true
	case "deliver.send":
		w.Sent = append(w.Sent, abi.SendRequest{SessionKey: q.SessionKey, Text: q.Text, RunID: q.RunID, AtCall: q.AtCall})
		return abi.AppendReply(nil, &abi.SendReply{DeliveryID: "delivery-" + strconv.Itoa(len(w.Sent))}), true
	}
	return abi.AppendError(nil, abi.Unsupported, "no such operation"), true
}
