package callid

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
)

func TestCheck(t *testing.T) {
	for id, ok := range map[string]bool{
		"": true, "call_1": true, "{a/b}~": true, strings.Repeat("x", MaxLen): true,
		strings.Repeat("x", MaxLen+1): false, "a b": false, "a\n": false, "é": false, "\x7f": false,
	} {
		if err := Check("callId", id); (err == nil) != ok || err != nil && (!errors.Is(err, abi.InvalidArgs) || !strings.HasPrefix(err.Error(), "callId ")) {
			t.Errorf("Check(%q) = %v", id, err)
		}
	}
}
