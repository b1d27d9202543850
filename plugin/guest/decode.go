package guest

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/jsonread"
	"github.com/parley-wasm/parley/plugin/view"
)

// startRows bounds what is set aside for a page before its rows are seen.
const startRows = 64

func readRows(r *jsonread.Reader, limit int) []abi.ListRow {
	if !r.Array() {
		return nil
	}
	rows := make([]abi.ListRow, 0, min(limit, startRows))
	for r.Element() {
		rows = append(rows, abi.ListRow{})
		row := &rows[len(rows)-1]
		if !r.Object() {
			continue
		}
		for r.Member() {
			switch r.Name() {
			case "session":
				readSession(r, &row.Session)
			case "messages":
				row.Messages = readMessages(r, abi.MaxListMessages)
			default:
				r.Skip()
			}
		}
	}
	return rows
}

func readMessages(r *jsonread.Reader, limit int) []abi.Message {
	if !r.Array() {
		return nil
	}
	messages := make([]abi.Message, 0, min(limit, startRows))
	for r.Element() {
		messages = append(messages, abi.Message{})
		m := &messages[len(messages)-1]
		if !r.Object() {
			continue
		}
		for r.Member() {
			switch r.Name() {
			case "seq":
				m.Seq = r.Int()
			case "message":
				m.JSON = view.Bytes(r.Skip())
			case "cut":
				m.Cut = readCut(r)
			default:
				r.Skip()
			}
		}
	}
	return messages
}

func readCut(r *jsonread.Reader) []abi.Cut {
	if !r.Array() {
		return nil
	}
	var cut []abi.Cut
	for r.Element() {
		cut = append(cut, abi.Cut{})
		c := &cut[len(cut)-1]
		if !r.Object() {
			continue
		}
		for r.Member() {
			switch r.Name() {
			case "path":
				c.Path = r.Text()
			case "bytes":
				c.Bytes = r.Int()
			default:
				r.Skip()
			}
		}
	}
	return cut
}

func readSession(r *jsonread.Reader, s *abi.Session) {
	if !r.Object() {
		return
	}
	for r.Member() {
		switch r.Name() {
		case "key":
			s.Key = r.Text()
		case "agentId":
			s.AgentID = r.Text()
		case "kind":
			s.Kind = r.Text()
		case "sessionId":
			s.SessionID = r.Text()
		case "updatedAt":
			s.UpdatedAt = r.Int()
		case "label":
			s.Label = r.Text()
		case "displayName":
			s.DisplayName = r.Text()
		case "subject":
			s.Subject = r.Text()
		case "chatType":
			s.ChatType = r.Text()
		case "channel":
			s.Channel = r.Text()
		case "deliveryContext":
			readTarget(r, &s.DeliveryContext)
		case "lastChannel":
			s.LastChannel = r.Text()
		case "lastTo":
			s.LastTo = r.Text()
		case "lastAccountId":
			s.LastAccountID = r.Text()
		case "lastThreadId":
			s.LastThreadID = r.Text()
		case "model":
			s.Model = r.Text()
		case "contextTokens":
			s.ContextTokens = optInt(r)
		case "totalTokens":
			s.TotalTokens = optInt(r)
		case "thinkingLevel":
			s.ThinkingLevel = r.Text()
		case "verboseLevel":
			s.VerboseLevel = r.Text()
		case "systemSent":
			s.SystemSent = optBool(r)
		case "abortedLastRun":
			s.AbortedLastRun = optBool(r)
		case "sendPolicy":
			s.SendPolicy = r.Text()
		case "spawnedBy":
			s.SpawnedBy = r.Text()
		case "status":
			s.Status = r.Text()
		case "archivedAt":
			s.ArchivedAt = r.Int()
		case "transcriptPath":
			s.TranscriptPath = r.Text()
		default:
			r.Skip()
		}
	}
}

func readTarget(r *jsonread.Reader, t *abi.Target) {
	if !r.Object() {
		return
	}
	for r.Member() {
		switch r.Name() {
		case "channel":
			t.Channel = r.Text()
		case "to":
			t.To = r.Text()
		case "accountId":
			t.AccountID = r.Text()
		case "threadId":
			t.ThreadID = r.Text()
		default:
			r.Skip()
		}
	}
}

func optInt(r *jsonread.Reader) *int64 {
	c := r.Peek()
	v := r.Int()
	if c != '-' && (c < '0' || c > '9') {
		return nil
	}
	return &v
}

var yes, no = true, false // what optBool points to; never written

func optBool(r *jsonread.Reader) *bool {
	switch r.Skip() {
	case "true":
		return &yes
	case "false":
		return &no
	}
	return nil
}
