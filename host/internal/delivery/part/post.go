package part

import (
	"context"
	"fmt"
	"sync"
)

// remembered is of how many messages it is known at most how far they were posted.
const remembered = 10_000

// Memory knows how many parts of a message have been posted, so that the next
// attempt goes on behind them. It lasts as long as the process, and forgets what
// was posted whole. The zero value is ready; it is safe for concurrent use.
type Memory struct {
	mu   sync.Mutex
	done map[string]int // parts, by the message's key
}

// Post posts the parts of the message with this key that have not been posted
// yet, in their order, until one fails.
func (m *Memory) Post(ctx context.Context, key string, parts []string, post func(ctx context.Context, position int, text string) error) error {
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

func (m *Memory) posted(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.done[key]
}

func (m *Memory) set(key string, n, of int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n >= of {
		delete(m.done, key)
		return
	}
	if m.done == nil {
		m.done = map[string]int{}
	}
	if _, known := m.done[key]; !known && len(m.done) >= remembered {
		for other := range m.done { // any; what is lost is a repeated part at worst
			delete(m.done, other)
			break
		}
	}
	m.done[key] = n
}
