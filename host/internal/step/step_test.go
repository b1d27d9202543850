package step_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/store"
)

// pluginFunc is a plugin written in Go.
type pluginFunc func(call hostCall) string

// hostCall calls a host function.
type hostCall func(namespace, request string) (reply string)

func (f pluginFunc) Run(ctx context.Context, _ string, _ []byte, h engine.HostFunctions) ([]byte, error) {
	var failed error
	output := f(func(namespace, request string) string {
		reply, err := h.Call(ctx, namespace, []byte(request))
		failed = errors.Join(failed, err)
		return string(reply)
	})
	return []byte(output), failed
}

// oneSession is a store with one session. It counts its open snapshots.
type oneSession struct {
	opened, closed int
	message        string
	err            error
}

func (s *oneSession) Snapshot(context.Context) (store.Snapshot, error) {
	s.opened++
	return &oneSessionView{s}, nil
}

type oneSessionView struct{ s *oneSession }

func (v *oneSessionView) Get(_ context.Context, key string) (*abi.Session, error) {
	if key != "agent:main:main" {
		return nil, v.s.err
	}
	return &abi.Session{Key: key, AgentID: "main", Kind: "other", SessionID: "s1", UpdatedAt: 1}, v.s.err
}

func (v *oneSessionView) Resolve(context.Context, *abi.ResolveRequest) (*abi.Session, error) {
	return nil, v.s.err
}

func (v *oneSessionView) List(context.Context, *abi.ListRequest) (*abi.ListPage, error) {
	return &abi.ListPage{}, v.s.err
}

func (v *oneSessionView) History(context.Context, *abi.HistoryRequest) (*abi.HistoryPage, error) {
	return &abi.HistoryPage{Messages: []abi.Message{{Seq: 1, JSON: []byte(v.s.message)}}}, v.s.err
}

func (v *oneSessionView) Close() error { v.s.closed++; return nil }

// Name implements step.Plugin.
func (pluginFunc) Name() string { return "test 1" }

// Digest implements step.Plugin.
func (pluginFunc) Digest() string { return "test" }

// Grants implements step.Plugin.
func (pluginFunc) Grants(string) error { return nil }

// denying is a plugin without the grant for one capability.
type denying struct {
	pluginFunc
	capability string
}

// Grants implements step.Plugin.
func (w denying) Grants(capability string) error {
	if capability == w.capability {
		return abi.NewError(abi.Forbidden, "denied")
	}
	return nil
}

// An operation, whether a read or a write, is refused exactly if the plugin has no
// grant for it.
func TestCapabilities(t *testing.T) {
	for _, c := range abi.Capabilities {
		namespace, op, _ := strings.Cut(c, ".")
		refused := func(capability string) bool {
			var reply string
			p := denying{func(call hostCall) string {
				reply = call(namespace, `{"op":"`+op+`"}`)
				return `{"result":{}}`
			}, capability}
			_, err := runner(&oneSession{}).Run(context.Background(), p, &step.Input{Export: abi.ExportCall, JSON: []byte(`{"tool":"t"}`)})
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(reply, `"message":"denied"`)
		}
		if !refused(c) || refused("another") {
			t.Errorf("%s: not refused, or refused although granted", c)
		}
	}
}

func runner(s store.Store) *step.Runner {
	return &step.Runner{Store: s, Logger: slog.New(slog.DiscardHandler)}
}

func run(s store.Store, p pluginFunc) (*step.Result, error) {
	return runner(s).Run(context.Background(), p, &step.Input{Export: abi.ExportCall, JSON: []byte(`{"tool":"t"}`)})
}

func TestOutputValidation(t *testing.T) {
	tests := []struct {
		name, output string
		code         abi.Code // of the error; empty: an answer
	}{
		{"answer", `{"result":{"a":1}}`, ""},
		{"tool failure", `{"result":{"status":"error"},"code":"not_found"}`, ""},
		{"own error", `{"error":{"code":"invalid_args","message":"no"}}`, abi.InvalidArgs},
		{"own error, unknown code", `{"error":{"code":"teapot","message":"no"}}`, abi.Internal},
		{"not JSON", `{"result":`, abi.Internal},
		{"two documents", `{"result":{}}{}`, abi.Internal},
		{"duplicate", `{"result":{},"result":{}}`, abi.Internal},
		{"empty", ``, abi.Internal},
		{"not an object", `[]`, abi.Internal},
		{"empty object", `{}`, abi.Internal},
		{"unknown member", `{"result":{},"extra":1}`, abi.Internal},
		{"result is not an object", `{"result":"text"}`, abi.Internal},
		{"unknown code", `{"result":{},"code":"teapot"}`, abi.Internal},
		{"error beside a result", `{"result":{},"error":{"code":"limit","message":""}}`, abi.Internal},
		{"wait", `{"wait":{"until":1,"state":{},"stateVersion":1}}`, abi.Forbidden},
		{"note", `{"result":{},"note":5}`, abi.Internal},
		{"code without a result", `{"code":"limit"}`, abi.Internal},
		{"result and wait", `{"result":{},"wait":{"until":1}}`, abi.Forbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := run(&oneSession{}, func(hostCall) string { return tt.output })
			if tt.code == "" {
				if err != nil || string(got.Result) != gjson.Get(tt.output, "result").Raw {
					t.Fatalf("got %v, %v", got, err)
				}
				return
			}
			if !errors.Is(err, tt.code) {
				t.Fatalf("got %v, %v; want the code %s", got, err, tt.code)
			}
		})
	}
}

func TestHostFunctions(t *testing.T) {
	tests := []struct {
		namespace, request string
		want               string // reply, or the code of its error
	}{
		{"store", `{"op":"get","sessionKey":"agent:main:main"}`, `{"ok":{"session":{"key":"agent:main:main","agentId":"main","kind":"other","sessionId":"s1","updatedAt":1}}}`},
		{"store", `{"op":"get","sessionKey":"agent:main:x"}`, `{"ok":{"session":null}}`},
		{"store", `{"op":"resolve","sessionId":"x","scope":{}}`, `{"ok":{"session":null}}`},
		{"store", `{"op":"list","limit":5}`, `{"ok":{"rows":[],"more":false}}`},
		{"agent", `{"op":"status","runId":"r1"}`, `{"ok":{"run":null}}`},
		{"agent", `{"op":"waits","sessionKey":"agent:main:main"}`, `{"ok":{"waits":false}}`},
		{"store", `{"op":"get"}`, "invalid_args"},
		{"store", `{"op":"get","sessionKey":5}`, "invalid_args"},
		{"store", `{"op":"get","sessionKey":"a","more":1}`, "invalid_args"},
		{"store", `{"op":"get","SessionKey":"a"}`, "invalid_args"},
		{"store", `{"op":"get","sessionKey":"a"} `, `{"ok":{"session":null}}`},
		{"store", `{"op":"get","sessionKey":"a"}x`, "invalid_args"},
		{"store", `{"op":"get","sessionKey":"a","sessionKey":"b"}`, "invalid_args"},
		{"store", `[]`, "invalid_args"},
		{"store", `{}`, "invalid_args"},
		{"store", `{"op":"list"}`, "invalid_args"},
		{"store", `{"op":"list","limit":0}`, "invalid_args"},
		{"store", `{"op":"list","limit":1001}`, "invalid_args"},
		{"store", `{"op":"list","limit":1.5}`, "invalid_args"},
		{"store", `{"op":"list","limit":5,"kinds":["cron","nope"]}`, "invalid_args"},
		{"store", `{"op":"list","limit":5,"messages":21}`, "invalid_args"},
		{"store", `{"op":"list","limit":5,"scope":{"agent":["main"]}}`, "invalid_args"},
		{"store", `{"op":"list","limit":5,"after":{"updatedAt":1}}`, "invalid_args"},
		{"store", `{"op":"history","sessionKey":"k","limit":5,"maxBytes":99999999}`, "invalid_args"},
		{"store", `{"op":"drop"}`, "unsupported"},
		{"agent", `{"op":"get","sessionKey":"a"}`, "unsupported"},
		{"deliver", `{"op":"peek"}`, "unsupported"},
		{"store", `{"op":"create"}`, "forbidden"},
		{"store", `{"op":"patch"}`, "forbidden"},
		{"store", `{"op":"archive"}`, "forbidden"},
		{"store", `{"op":"delete"}`, "forbidden"},
		{"agent", `{"op":"run"}`, "forbidden"},
		{"agent", `{"op":"abort"}`, "forbidden"},
		{"deliver", `{"op":"send"}`, "forbidden"},
	}
	for _, tt := range tests {
		t.Run(tt.namespace+tt.request, func(t *testing.T) {
			var reply string
			_, err := run(&oneSession{}, func(call hostCall) string {
				reply = call(tt.namespace, tt.request)
				return `{"result":{}}`
			})
			if err != nil {
				t.Fatalf("a refusal must not fail the step: %v", err)
			}
			if code := gjson.Get(reply, "error.code").Str; code != tt.want && reply != tt.want {
				t.Fatalf("got %s, want %s", reply, tt.want)
			}
		})
	}
}

func TestOneSnapshotPerStep(t *testing.T) {
	s := &oneSession{message: `{"role":"user"}`}
	_, err := run(s, func(call hostCall) string {
		for range 3 {
			call("store", `{"op":"history","sessionKey":"agent:main:main","limit":5}`)
		}
		return `{"result":{}}`
	})
	if err != nil || s.opened != 1 || s.closed != 1 {
		t.Fatalf("opened %d, closed %d, %v; want one snapshot, closed", s.opened, s.closed, err)
	}
	if _, err := run(s, func(hostCall) string { return `{"result":{}}` }); err != nil || s.opened != 1 {
		t.Fatalf("a step without reads opened a snapshot (%d), %v", s.opened, err)
	}
}

// A store failure fails the step, and the plugin does not see the error text.
func TestStoreFailure(t *testing.T) {
	s := &oneSession{err: errors.New("disk on fire at /secret/path")}
	var reply string
	_, err := run(s, func(call hostCall) string {
		reply = call("store", `{"op":"list","limit":5}`)
		return `{"result":{"sessions":[]}}`
	})
	if err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Fatalf("the step succeeded on a broken store: %v", err)
	}
	if reply != "" {
		t.Fatalf("the plugin received %s", reply)
	}
}

func TestHugeStringsAreTruncated(t *testing.T) {
	s := &oneSession{message: `{"role":"user","content":"` + strings.Repeat("x", 200_000) + `"}`}
	var reply string
	if _, err := run(s, func(call hostCall) string {
		reply = call("store", `{"op":"history","sessionKey":"k","limit":5}`)
		return `{"result":{}}`
	}); err != nil {
		t.Fatal(err)
	}
	m := gjson.Get(reply, "ok.messages.0")
	if len(m.Get("message.content").Str) > abi.MaxString || m.Get("cut.0.path").Str != "/content" || m.Get("cut.0.bytes").Int() != 200_000 {
		t.Fatalf("content has %d bytes, truncation is %s", len(m.Get("message.content").Str), m.Get("cut").Raw)
	}
}

func TestObserve(t *testing.T) {
	p := pluginFunc(func(call hostCall) string {
		call("store", `{"op":"get","sessionKey":"agent:main:x"}`)
		return `{"result":{}}`
	})
	r := runner(&oneSession{})
	var got *step.Record
	r.Observe = func(rec *step.Record) { got = rec }
	if _, err := r.Run(context.Background(), p, &step.Input{Export: abi.ExportCall, JSON: []byte(`{"tool":"t"}`)}); err != nil {
		t.Fatal(err)
	}
	if len(got.Calls) != 1 || string(got.Calls[0].Reply) != `{"ok":{"session":null}}` || gjson.GetBytes(got.Input, "tool").Str != "t" {
		t.Fatalf("recorded %+v", got)
	}
}
