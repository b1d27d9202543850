package guest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/guest/guesttest"
)

// TestChildren tests the operations on children.
func TestChildren(t *testing.T) {
	c := guest.NewClient(guesttest.NewScript(t,
		guesttest.Exchange{Request: `{"op":"create","agentId":"a","label":"l","model":"m","thinkingLevel":"high","maxActive":5}`, Reply: string(abi.AppendReply(nil, &abi.CreateReply{SessionKey: "k", SessionID: "s"}))},
		guesttest.Exchange{Request: `{"op":"archive","sessionKey":"k"}`, Reply: string(abi.AppendDoneReply(nil))},
		guesttest.Exchange{Request: `{"op":"delete","sessionKey":"k"}`, Reply: string(abi.AppendDoneReply(nil))},
	))
	key, id, err := c.Create(&abi.CreateRequest{AgentID: "a", Label: "l", Model: "m", ThinkingLevel: "high", MaxActive: 5})
	if key != "k" || id != "s" || err != nil {
		t.Errorf("Create: %q, %q, %v", key, id, err)
	}
	if err := c.Archive(&abi.ArchiveRequest{SessionKey: "k"}); err != nil {
		t.Errorf("Archive: %v", err)
	}
	if err := c.Delete(&abi.DeleteRequest{SessionKey: "k"}); err != nil {
		t.Errorf("Delete: %v", err)
	}
}

// A refusal or a malformed reply to an operation on a child is a Fault.
func TestChildrenRefused(t *testing.T) {
	asks := map[string]func(*guest.Client) error{
		"create": func(c *guest.Client) error {
			_, _, err := c.Create(&abi.CreateRequest{})
			return err
		},
		"archive": func(c *guest.Client) error { return c.Archive(&abi.ArchiveRequest{}) },
		"delete":  func(c *guest.Client) error { return c.Delete(&abi.DeleteRequest{}) },
	}
	refused := map[string]abi.Code{
		`{"error":{"code":"conflict","message":"no"}}`: abi.Conflict,
		`{"error":{"code":"not_found"}}`:               abi.NotFound,
		`{"error":{}}`:                                 abi.Internal,
		`{"ok":null}`:                                  abi.Internal,
		`{"ok":"done"}`:                                abi.Internal,
		`{}`:                                           abi.Internal,
		`[]`:                                           abi.Internal,
		``:                                             abi.Internal,
	}
	check := func(op, reply string, code abi.Code) {
		t.Helper()
		var f *guest.Fault
		err := asks[op](guest.NewClient(guesttest.NewScript(t, guesttest.Exchange{Reply: reply})))
		if !errors.As(err, &f) || !errors.Is(err, code) {
			t.Errorf("%s: %s: %v, want %s", op, reply, err, code)
		}
	}
	for op := range asks {
		for reply, code := range refused {
			check(op, reply, code)
		}
	}
	for _, reply := range []string{`{"ok":{}}`, `{"ok":{"sessionKey":"k"}}`, `{"ok":{"sessionId":"s"}}`, `{"ok":{"sessionKey":"","sessionId":"s"}}`, `{"ok":{"sessionKey":7,"sessionId":"s"}}`} {
		check("create", reply, abi.Internal)
	}
}

// Forbidden, NotFound and the additional codes are refusals; any other error fails the
// step.
func TestRefusal(t *testing.T) {
	refused := func(code abi.Code) error { return &guest.Fault{Err: abi.NewError(code, "no")} }
	for _, tt := range []struct {
		err     error
		also    []abi.Code
		answers bool
	}{
		{nil, nil, false},
		{refused(abi.Forbidden), nil, true},
		{refused(abi.NotFound), nil, true},
		{refused(abi.NotFound), []abi.Code{abi.Conflict}, true},
		{refused(abi.Conflict), nil, false},
		{refused(abi.Conflict), []abi.Code{abi.Conflict}, true},
		{refused(abi.Limit), []abi.Code{abi.Conflict}, false},
		{refused(abi.Internal), nil, false},
		{fmt.Errorf("layer: %w", refused(abi.Forbidden)), nil, true},
		{abi.NewError(abi.Forbidden, "of the tool's own"), nil, false},
		{errors.New("other"), nil, false},
	} {
		refusal, err := guest.Refusal(tt.err, tt.also...)
		switch {
		case tt.answers && (refusal == nil || err != nil):
			t.Errorf("%v is not a refusal: %v, %v", tt.err, refusal, err)
		case !tt.answers && (refusal != nil || err != tt.err):
			t.Errorf("%v is a refusal: %v, %v", tt.err, refusal, err)
		}
	}
}

func TestCheckHops(t *testing.T) {
	for hops, allowed := range map[int]bool{0: true, abi.MaxHops - 1: true, abi.MaxHops: false, abi.MaxHops + 1: false, 1000: false} {
		in := &guest.Input{Caller: abi.Caller{Hops: hops}}
		err := in.CheckHops("spawning")
		if (err == nil) != allowed || err != nil && (!errors.Is(err, abi.Forbidden) || !strings.HasSuffix(err.Error(), "chain of 8 sends and spawns, the longest allowed; answer without spawning")) {
			t.Errorf("S5.6 with %d hops: %v", hops, err)
		}
	}
}
