package part

import (
	"context"
	"fmt"
	"sync"
)

// maxMessages is the maximum number of partly posted messages that a Progress keeps.
const maxMessages = 10_000

// Progress records how many parts of each message have been posted, so that a retry
// continues after them. It is not persistent, and drops messages that are posted
// completely. The zero value is ready to use. It is safe for concurrent use.
type Progress struct {
	mu   sync.Mutex
	done map[string]int // parts, by the message's key
}

// Post posts the remaining parts of the message with this key, in order, until one
// fails.
func (m *Progress) Post(ctx context.Context, key string, parts []string, post func(ctx context.Context, position int, text string) error) error {
	for i := m.posted(key); i < len(parts); i++ {
		if err := post(ctx, i, parts[i]); err != nil {
			if len(parts) > 1 {
				err = fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
			}
			return err
		}
		m.set(key, i+1, len(parts))
	}
	return nil
}

func (m *Progress) posted(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.done[key]
}

func (m *Progress) set(key string, n, of int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n >= of {
		delete(m.done, key)
		return
	}
	if m.done == nil {
		m.done = map[string]int{}
	}
	if _, known := m.done[key]; !known && len(m.done) >= maxMessages {
		for other := range m.done { // drops an arbitrary message; its retry may post parts again
			delete(m.done, other)
			break
		}
	}
	m.done[key] = n
}
