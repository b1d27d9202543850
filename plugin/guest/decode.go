package guest

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/internal/view"
)

// startRows bounds what is set aside for a page before it is seen.
const startRows = 64

// readAll reads the elements of an array; nil for any other value. limit is how
// many are expected at most.
func readAll[T any](v gjson.Result, limit int, read func(gjson.Result, *T)) []T {
	if !v.IsArray() {
		return nil
	}
	all := make([]T, 0, min(limit, startRows))
	v.ForEach(func(_, v gjson.Result) bool {
		var one T
		read(v, &one)
		all = append(all, one)
		return true
	})
	return all
}

func readRow(v gjson.Result, row *abi.ListRow) {
	v.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "session":
			readSession(v, &row.Session)
		case "messages":
			row.Messages = readAll(v, abi.MaxListMessages, readMessage)
		}
		return true
	})
}

func readMessage(v gjson.Result, m *abi.Message) {
	v.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "seq":
			m.Seq = integer(v)
		case "message":
			m.JSON = view.Bytes(v.Raw)
		case "cut":
			m.Cut = readAll(v, startRows, readCut)
		}
		return true
	})
}

func readCut(v gjson.Result, c *abi.Cut) {
	c.Path, c.Bytes = v.Get("path").Str, integer(v.Get("bytes"))
}

func readSession(v gjson.Result, s *abi.Session) {
	v.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "key":
			s.Key = v.Str
		case "agentId":
			s.AgentID = v.Str
		case "kind":
			s.Kind = v.Str
		case "sessionId":
			s.SessionID = v.Str
		case "updatedAt":
			s.UpdatedAt = integer(v)
		case "label":
			s.Label = v.Str
		case "displayName":
			s.DisplayName = v.Str
		case "subject":
			s.Subject = v.Str
		case "chatType":
			s.ChatType = v.Str
		case "channel":
			s.Channel = v.Str
		case "deliveryContext":
			readTarget(v, &s.DeliveryContext)
		case "lastChannel":
			s.LastChannel = v.Str
		case "lastTo":
			s.LastTo = v.Str
		case "lastAccountId":
			s.LastAccountID = v.Str
		case "lastThreadId":
			s.LastThreadID = v.Str
		case "model":
			s.Model = v.Str
		case "modelOverride":
			s.ModelOverride = v.Str
		case "contextTokens":
			s.ContextTokens = optInt(v)
		case "totalTokens":
			s.TotalTokens = optInt(v)
		case "thinkingLevel":
			s.ThinkingLevel = v.Str
		case "verboseLevel":
			s.VerboseLevel = v.Str
		case "systemSent":
			s.SystemSent = optBool(v)
		case "abortedLastRun":
			s.AbortedLastRun = optBool(v)
		case "sendPolicy":
			s.SendPolicy = v.Str
		case "spawnedBy":
			s.SpawnedBy = v.Str
		case "sandboxed":
			s.Sandboxed = v.Type == gjson.True
		case "status":
			s.Status = v.Str
		case "archivedAt":
			s.ArchivedAt = integer(v)
		case "transcriptPath":
			s.TranscriptPath = v.Str
		}
		return true
	})
}

func readTarget(v gjson.Result, t *abi.Target) {
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
}

// integer reads a number, less any fraction; any other value, even a text of
// digits, is 0.
func integer(v gjson.Result) int64 {
	if v.Type != gjson.Number {
		return 0
	}
	return v.Int()
}

func optInt(v gjson.Result) *int64 {
	if v.Type != gjson.Number {
		return nil
	}
	n := v.Int()
	return &n
}

var yes, no = true, false // what optBool points to; never written

func optBool(v gjson.Result) *bool {
	switch v.Type {
	case gjson.True:
		return &yes
	case gjson.False:
		return &no
	}
	return nil
}
