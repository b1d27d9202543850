package main

import (
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
)

// TestMessageSizeLimit checks that a message on standard input above the limit is refused
// and not truncated.
func TestMessageSizeLimit(t *testing.T) {
	for n, ok := range map[int]bool{0: true, abi.MaxText: true, abi.MaxText + 1: false, 3 << 20: false} {
		c := &sendCmd{Message: "-"}
		err := c.read(strings.NewReader(strings.Repeat("x", n)))
		if ok && (err != nil || len(c.Message) != n) || !ok && (err == nil || !strings.Contains(err.Error(), "longer than 1048576 bytes")) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
