package command

import (
	"strings"
	"sync"

	"github.com/parley-wasm/parley/host/runner"
)

// output keeps what a program prints, up to a limit. What comes after is read and
// dropped, and calls exceeded once.
type output struct {
	limit    int
	exceeded func()

	mu   sync.Mutex
	kept []byte
	cut  bool
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	n := min(len(p), o.limit-len(o.kept))
	o.kept = append(o.kept, p[:n]...)
	first := n < len(p) && !o.cut
	o.cut = o.cut || first
	o.mu.Unlock()
	if first {
		o.exceeded()
	}
	return len(p), nil
}

func (o *output) over() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cut
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.kept)
}

// maxTail is how much of standard error an error shows.
const maxTail = 4 << 10

// tail keeps the last maxTail bytes, and so many before them that a secret which
// is cut does not begin there.
type tail struct {
	secrets []string // that String conceals

	mu   sync.Mutex
	kept []byte
	cut  bool
}

// margin is the length of the longest secret.
func (t *tail) margin() (longest int) {
	for _, s := range t.secrets {
		longest = max(longest, len(s))
	}
	return longest
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := maxTail + t.margin()
	t.cut = t.cut || len(t.kept)+len(p) > limit
	t.kept = append(t.kept, p[max(0, len(p)-limit):]...)
	t.kept = append(t.kept[:0], t.kept[max(0, len(t.kept)-limit):]...)
	return len(p), nil
}

// String returns the text, from the beginning of a character.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := runner.Conceal(string(t.kept), t.secrets...)
	over := max(0, len(kept)-maxTail)
	if t.cut {
		over = min(max(over, t.margin()), len(kept))
	}
	kept = kept[over:]
	for len(kept) > 0 && kept[0]&0xC0 == 0x80 {
		kept = kept[1:]
	}
	return strings.TrimSpace(runner.Text(kept))
}
