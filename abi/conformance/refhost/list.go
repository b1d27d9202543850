package refhost

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

func (s *Store) list(f *jsonvalue.Fields) ([]byte, error) {
	var r abi.ListRequest
	w := readView(f)
	f.Texts("kinds", &r.Kinds)
	f.Text("agentId", &r.AgentID)
	f.Text("label", &r.Label)
	f.Text("search", &r.Search)
	f.Int64("activeSince", &r.ActiveSince)
	f.Flag("includeArchived", &r.IncludeArchived)
	f.Nested("after", func(n *jsonvalue.Fields) {
		r.After = &abi.Position{}
		n.Int64("updatedAt", &r.After.UpdatedAt)
		n.Required("key", &r.After.Key)
	})
	r.Limit = f.Bounded("limit", 1, abi.MaxListLimit, 0)
	r.Messages = f.Bounded("messages", 0, abi.MaxListMessages, 0)
	r.MaxBytes = f.Bounded("maxBytes", 1, abi.DefaultMaxBytes, abi.DefaultMaxBytes)
	for _, kind := range r.Kinds {
		if !slices.Contains(sessionkey.Kinds, kind) {
			f.Fail(fmt.Errorf("unknown kind %q", kind))
		}
	}
	if err := f.Done(); err != nil {
		return nil, err
	}

	page := abi.ListPage{Rows: []abi.ListRow{}}
	size := len(abi.AppendReply(nil, &page))
	for i := range s.sessions {
		stored := &s.sessions[i]
		if !w.includes(&stored.Session) || !wanted(&r, w, &stored.Session) {
			continue
		}
		row := abi.ListRow{Session: stored.Session}
		if r.Messages > 0 {
			row.Messages = newest(stored, r.Messages)
		}
		size += len(row.AppendJSON(nil)) + len(",")
		if len(page.Rows) == r.Limit || len(page.Rows) > 0 && size > r.MaxBytes {
			page.More = true
			break
		}
		page.Rows = append(page.Rows, row)
	}
	return abi.AppendReply(nil, &page), nil
}

// wanted reports whether a session passes all filters of the request except the scope.
func wanted(r *abi.ListRequest, w view, s *abi.Session) bool {
	if r.After != nil && !listPosition(*r.After).before(position(s)) {
		return false
	}
	return (r.IncludeArchived || s.ArchivedAt == 0) &&
		s.UpdatedAt >= r.ActiveSince &&
		(len(r.Kinds) == 0 || slices.Contains(r.Kinds, w.settings.KindOf(s.Key))) &&
		(r.AgentID == "" || r.AgentID == w.agent(s)) &&
		(r.Label == "" || r.Label == s.Label) &&
		found(r.Search, s.Key, s.Label, s.DisplayName, s.Subject)
}

func found(search string, in ...string) bool {
	return slices.ContainsFunc(in, func(text string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(search))
	})
}

// newest returns the last n messages except tool results, oldest first.
func newest(stored *vector.StoredSession, n int) []abi.Message {
	out := []abi.Message{}
	for _, m := range backwards(stored, []string{"toolResult", "tool"}) {
		if len(out) == n {
			break
		}
		out = append(out, shorten(m))
	}
	slices.Reverse(out)
	return out
}
