package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
)

func TestCheckCallID(t *testing.T) {
	for id, ok := range map[string]bool{
		"": true, "call_1": true, "{a/b}~": true, strings.Repeat("x", 256): true,
		strings.Repeat("x", 257): false, "a b": false, "a\n": false, "é": false, "\x7f": false,
	} {
		if err := host.CheckCallID("callId", id); (err == nil) != ok || err != nil && (!errors.Is(err, abi.InvalidArgs) || !strings.HasPrefix(err.Error(), "callId ")) {
			t.Errorf("CheckCallID(%q) = %v", id, err)
		}
	}
}

// CheckCallID's rule applies to every method of Host that takes an id.
func TestCallIDsAreBounded(t *testing.T) {
	h := startHost(t, openTestDB(t, dbPath(t)), openSettings, nil)
	long := strings.Repeat("x", 257)
	for name, call := range map[string]func() error{
		"a tool that reads": func() error {
			_, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolList, Caller: operator, ID: long})
			return err
		},
		"a tool that writes": func() error {
			_, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolSend, Caller: operator, ID: "a b"})
			return err
		},
		"a message": func() error {
			_, err := h.Send(t.Context(), &host.Message{SessionKey: "main", Text: "hi", RequestID: long})
			return err
		},
		"a run": func() error {
			_, err := h.StartAgent(t.Context(), &host.AgentRequest{SessionKey: "main", Message: "hi", RequestID: long})
			return err
		},
	} {
		if err := call(); !errors.Is(err, abi.InvalidArgs) || !strings.Contains(err.Error(), " id ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
