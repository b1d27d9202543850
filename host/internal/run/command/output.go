package command

import (
	"strings"
	"sync"

	"github.com/parley-wasm/parley/host/runner"
)

// output collects the program's output up to a limit. It discards further output, and
// calls exceeded once.
type output struct {
	limit    int
	exceeded func()

	mu        sync.Mutex
	kept      []byte
	truncated bool
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	n := min(len(p), o.limit-len(o.kept))
	o.kept = append(o.kept, p[:n]...)
	first := n < len(p) && !o.truncated
	o.truncated = o.truncated || first
	o.mu.Unlock()
	if first {
		o.exceeded()
	}
	return len(p), nil
}

func (o *output) over() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.truncated
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.kept)
}

// maxTail is the number of bytes of standard error in an error.
const maxTail = 4 << 10

// tail keeps the last maxTail bytes, and enough bytes before them to recognise a
// secret that crosses the boundary.
type tail struct {
	secrets []string // concealed by String

	mu        sync.Mutex
	kept      []byte
	truncated bool
}

// margin returns the length of the longest secret.
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
	t.truncated = t.truncated || len(t.kept)+len(p) > limit
	t.kept = append(t.kept, p[max(0, len(p)-limit):]...)
	t.kept = append(t.kept[:0], t.kept[max(0, len(t.kept)-limit):]...)
	return len(p), nil
}

// String returns the text, starting at a character boundary.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := runner.Conceal(string(t.kept), t.secrets...)
	over := max(0, len(kept)-maxTail)
	if t.truncated {
		over = min(max(over, t.margin()), len(kept))
	}
	kept = kept[over:]
	for len(kept) > 0 && kept[0]&0xC0 == 0x80 {
		kept = kept[1:]
	}
	return strings.TrimSpace(runner.Text(kept))
}
