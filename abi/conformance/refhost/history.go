package refhost

import (
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

func (s *Store) history(f *jsonvalue.Fields) ([]byte, error) {
	var r abi.HistoryRequest
	f.Required("sessionKey", &r.SessionKey)
	f.Int64("before", &r.Before)
	r.Skip = f.Bounded("skip", 0, abi.MaxSafeInteger, 0)
	r.Limit = f.Bounded("limit", 1, abi.MaxHistoryLimit, 0)
	f.Texts("excludeRoles", &r.ExcludeRoles)
	r.MaxBytes = f.Bounded("maxBytes", 1, abi.DefaultMaxBytes, abi.DefaultMaxBytes)
	if err := f.Done(); err != nil {
		return nil, err
	}

	page := abi.HistoryPage{Messages: []abi.Message{}}
	stored := s.find(r.SessionKey)
	if stored == nil {
		return abi.AppendReply(nil, &page), nil
	}
	skipped, size := 0, len(abi.AppendReply(nil, &page))
	for _, m := range backwards(stored, r.ExcludeRoles) {
		if r.Before != 0 && m.Seq >= r.Before {
			continue
		}
		if skipped < r.Skip {
			skipped++
			continue
		}
		m = shorten(m)
		size += len(m.AppendJSON(nil)) + len(",")
		if len(page.Messages) == r.Limit || len(page.Messages) > 0 && size > r.MaxBytes {
			page.More = true
			break
		}
		page.Messages = append(page.Messages, m)
	}
	return abi.AppendReply(nil, &page), nil
}

// backwards returns a transcript newest first, without messages of these roles. Seq
// counts from 1.
func backwards(stored *vector.StoredSession, without []string) []abi.Message {
	var out []abi.Message
	for i, raw := range slices.Backward(stored.Messages) {
		if !slices.Contains(without, vector.Role(raw)) {
			out = append(out, abi.Message{Seq: int64(i + 1), JSON: raw})
		}
	}
	return out
}
