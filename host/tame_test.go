package host_test

import (
	"bytes"
	"sync/atomic"
	"time"

	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// tameStore is a database under which a vector's conversation is always the same.
type tameStore struct{ *sqlite.DB }

var (
	_ store.Durable = (*tameStore)(nil)
	_ store.Located = (*tameStore)(nil)
)

// Secret is always the same, and with it every id that is derived from it.
func (*tameStore) Secret() []byte { return bytes.Repeat([]byte("vector--"), 4) }

// TranscriptPath does not depend on where the database is.
func (*tameStore) TranscriptPath(sessionID string) string { return vector.TranscriptPath(sessionID) }

// Subscribe tells of flows a moment later than of anything else. So a flow whose
// run has ended always finds that the next run of the session has begun, and not
// only when its goroutine happens to be second.
func (t *tameStore) Subscribe(fn func([]store.Due)) (cancel func()) {
	var over atomic.Bool
	stop := t.DB.Subscribe(func(all []store.Due) {
		var now, later []store.Due
		for _, d := range all {
			if d.Kind == store.KindFlow {
				later = append(later, d)
			} else {
				now = append(now, d)
			}
		}
		if len(now) > 0 {
			fn(now)
		}
		if len(later) > 0 {
			time.AfterFunc(time.Millisecond, func() {
				if !over.Load() {
					fn(later)
				}
			})
		}
	})
	return func() {
		over.Store(true)
		stop()
	}
}
