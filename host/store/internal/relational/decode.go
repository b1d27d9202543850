package relational

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
)

// decodeSession reads what abi.Session.AppendJSON wrote.
func decodeSession(data string) abi.Session {
	var s abi.Session
	gjson.Parse(data).ForEach(func(name, v gjson.Result) bool {
		if text := sessionText(&s, name.Str); text != nil {
			*text = v.Str
			return true
		}
		switch name.Str {
		case "updatedAt":
			s.UpdatedAt = v.Int()
		case "archivedAt":
			s.ArchivedAt = v.Int()
		case "contextTokens":
			s.ContextTokens = ptr(v.Int())
		case "totalTokens":
			s.TotalTokens = ptr(v.Int())
		case "systemSent":
			s.SystemSent = ptr(v.Bool())
		case "abortedLastRun":
			s.AbortedLastRun = ptr(v.Bool())
		case "sandboxed":
			s.Sandboxed = v.Bool()
		case "deliveryContext":
			s.DeliveryContext = decodeTarget(v)
		}
		return true
	})
	return s
}

func ptr[T any](v T) *T { return &v }

// sessionText returns where the text member of this name goes, or nil.
func sessionText(s *abi.Session, name string) *string {
	switch name {
	case "key":
		return &s.Key
	case "agentId":
		return &s.AgentID
	case "kind":
		return &s.Kind
	case "sessionId":
		return &s.SessionID
	case "label":
		return &s.Label
	case "displayName":
		return &s.DisplayName
	case "subject":
		return &s.Subject
	case "chatType":
		return &s.ChatType
	case "channel":
		return &s.Channel
	case "lastChannel":
		return &s.LastChannel
	case "lastTo":
		return &s.LastTo
	case "lastAccountId":
		return &s.LastAccountID
	case "lastThreadId":
		return &s.LastThreadID
	case "model":
		return &s.Model
	case "modelOverride":
		return &s.ModelOverride
	case "thinkingLevel":
		return &s.ThinkingLevel
	case "verboseLevel":
		return &s.VerboseLevel
	case "sendPolicy":
		return &s.SendPolicy
	case "spawnedBy":
		return &s.SpawnedBy
	case "status":
		return &s.Status
	case "transcriptPath":
		return &s.TranscriptPath
	}
	return nil
}

func decodeTarget(v gjson.Result) (t abi.Target) {
	v.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "channel":
			t.Channel = v.Str
		case "to":
			t.To = v.Str
		case "accountId":
			t.AccountID = v.Str
		case "threadId":
			t.ThreadID = v.Str
		}
		return true
	})
	return t
}

// decodeMessage makes a message of its row. cut is empty, or an array as
// appendCut wrote it.
func decodeMessage(id int64, body, cut string) abi.Message {
	m := abi.Message{Seq: seqOf(id), JSON: []byte(body)}
	if cut != "" {
		gjson.Parse(cut).ForEach(func(_, c gjson.Result) bool {
			m.Cut = append(m.Cut, abi.Cut{Path: c.Get("path").Str, Bytes: c.Get("bytes").Int()})
			return true
		})
	}
	return m
}
