package host_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/engine/hostiletest"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/storetest"
	"github.com/parley-wasm/parley/plugin/wasm"
)

const hostile = "../testdata/hostile"

// causes is the text of an error and of all that it wraps.
func causes(err error) string {
	var text strings.Builder
	for ; err != nil; err = errors.Unwrap(err) {
		fmt.Fprintln(&text, err)
	}
	return text.String()
}

// TestHostile swaps each hostile plugin into a host, and attacks. The attack ends as
// the corpus says and leaves nothing; calls of before, of other tools and of other
// hosts in the process notice nothing.
func TestHostile(t *testing.T) {
	t.Parallel()
	n := newNeighbours(t)
	a := newAttacked(t, trusting)
	longest := a.send("agent:ops:main", "under way all the time")
	for _, c := range hostiletest.Read(t, hostile) {
		t.Run(c.Name, func(t *testing.T) {
			a.T = t
			finish := a.send("agent:main:d", c.Name)
			n.meanwhile(func() {
				switch c.At {
				case hostiletest.Load, hostiletest.Start, hostiletest.Describe, hostiletest.Module:
					a.refused(c)
				default:
					a.swap(c.Wasm)
					a.attack(c)
				}
			})
			if a.About().Version == "666" { // it would go on with flows of Parley's, too
				a.swap(wasm.Parley)
			}
			if err := finish(); err != nil {
				t.Errorf("the call that was under way: %v", err)
			}
			a.swap(wasm.Parley)
			if err := expect(a.Host, abi.ToolList, `{"limit":100}`, "count", "5"); err != nil {
				t.Errorf("Parley afterwards: %v", err)
			}
		})
	}
	if err := longest(); err != nil {
		t.Errorf("the call that was under way all the time: %v", err)
	}
}

// refused checks that a host neither begins with the module nor swaps to it.
func (a *attacked) refused(c *hostiletest.Case) {
	check := func(what string, err error) {
		a.Helper()
		kind := error(engine.Kind(c.Error))
		if c.At == hostiletest.Module {
			kind = abi.Code(c.Error)
		}
		if err == nil || !errors.Is(err, kind) || !strings.Contains(err.Error(), c.Says) {
			a.Errorf("%s: got %v, want %s with %q", what, err, c.Error, c.Says)
		}
	}
	_, err := host.New(a.Context(), c.Wasm, &host.Options{Store: storetest.NewMemory(), Logger: slog.New(slog.DiscardHandler), Limits: tight})
	check("a host of it", err)
	check("a swap to it", a.load(c.Wasm))
	if name := a.About().Name; name != "parley" {
		a.Errorf("%s serves", name)
	}
}

// attack attacks in the first step of a flow and in a later one, and is peaceful in
// between.
func (a *attacked) attack(c *hostiletest.Case) {
	before := a.rows()
	switch c.At {
	case hostiletest.Nowhere:
		a.peaceful(`{"do":"^"}`)
		a.peaceful(`{"do":"^"}`)
	case hostiletest.Flow:
		a.parks(c, `{"do":"^"}`)
		before.flows++
	default:
		answer, err := a.attempt(`{"do":"^"}`)
		want := error(engine.Kind(c.Error))
		if c.At == hostiletest.Step {
			want = abi.Code(c.Error)
		}
		if !errors.Is(err, want) || !strings.Contains(causes(err), c.Says) {
			a.Errorf("the attack ended with %+v, %v; want %s with %q", answer, causes(err), c.Error, c.Says)
		}
	}
	if after := a.rows(); after != before {
		a.Errorf("the attack changed %+v to %+v", before, after)
	}
	if c.Any {
		return
	}
	a.peaceful(`{"do":"something good"}`)
	if c.At == hostiletest.Call || c.At == hostiletest.Step {
		a.parks(c, `{"do":"~"}`)
		before.flows++
	}
	if after := a.rows(); after != before {
		a.Errorf("the attack changed %+v to %+v", before, after)
	}
}

func (a *attacked) peaceful(args string) {
	a.Helper()
	answer, err := a.attempt(args)
	if err != nil || string(answer.Result) != `{"status":"ok"}` || answer.Code != "" || answer.FlowID != "" {
		a.Errorf("a peaceful call: %+v, %v", answer, err)
	}
}

// parks checks that a call is accepted and its flow parked, in which a later step is
// an attack; and that nothing is left of it that would go on.
func (a *attacked) parks(c *hostiletest.Case, args string) {
	a.Helper()
	answer, err := a.attempt(args)
	flows, err2 := a.Flows(a.Context(), &store.Filter{Limit: 1})
	if err2 != nil || len(flows) == 0 {
		a.Fatalf("there is no flow: %v; the call ended with %+v, %v", err2, answer, err)
	}
	f := flows[0]
	for f.Status == store.FlowWaiting { // its caller may have been answered before
		if f, err2 = a.Flow(a.Context(), f.ID); err2 != nil {
			a.Fatal(err2)
		}
	}
	if f.Status != store.FlowParked || f.Plugin != "hostile 1" && f.Plugin != "parley 666" || !strings.Contains(f.Error, c.Says) {
		a.Errorf("the flow is %+v, want %q", f, c.Says)
	}
	if c.At != hostiletest.Flow && (f.Step != 1 || f.Failures != 2) {
		a.Errorf("the flow is parked at step %d after %d failures", f.Step, f.Failures)
	}
	if !f.Answered() && (!errors.Is(err, abi.Limit) || !strings.Contains(err.Error(), f.ID) || !strings.Contains(err.Error(), c.Says)) {
		a.Errorf("the caller is answered %+v, %v", answer, err)
	}
	if due, err := a.StepDue(a.Context()); due || err != nil {
		a.Errorf("a step is due: %v, %v", due, err)
	}
	if err := a.DropFlow(a.Context(), f.ID); err != nil {
		a.Error(err)
	}
}

// TestImpostor: a plugin that says it is Parley gets flows of Parley's, and crashes in
// them. They are parked, and go on with Parley itself.
func TestImpostor(t *testing.T) {
	t.Parallel()
	a := newAttacked(t, trusting)
	finish := a.send("agent:main:d", "^")
	a.swap(hostiletest.Wasm(t, hostile, "impostor"))
	if err := finish(); !errors.Is(err, abi.Limit) || !strings.Contains(err.Error(), "is parked: step: engine: resume: trap: unreachable") {
		t.Errorf("answered %v", err)
	}
	a.swap(wasm.Parley)
	answer, err := a.Call(t.Context(), &host.Call{
		Tool: abi.ToolSend, ID: "^", Caller: operator,
		Args: []byte(`{"sessionKey":"agent:main:d","message":"^","timeoutSeconds":600,"announce":"none"}`),
	})
	if err != nil || gjson.GetBytes(answer.Result, "reply").Str != "^" {
		t.Errorf("answered %+v, %v", answer, err)
	}
	if n := count(t, a.Host, "agent:main:d"); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// TestHostileIsTakenBack: under the settings that a gateway has by itself, a plugin
// that fails again and again soon no longer serves.
func TestHostileIsTakenBack(t *testing.T) {
	t.Parallel()
	a := newAttacked(t, wary)
	a.swap(hostiletest.Wasm(t, hostile, "loop"))
	bad := a.ActivePlugin().Digest
	for range 3 {
		if _, err := a.attempt(`{"do":"^"}`); !errors.Is(err, engine.Fuel) {
			t.Fatalf("got %v", err)
		}
	}
	if _, err := a.AwaitPlugin(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	if err := expect(a.Host, abi.ToolList, `{"limit":100}`, "count", "5"); err != nil || a.About().Name != "parley" {
		t.Errorf("%s serves: %v", a.About().Name, err)
	}
}

// TestLogOfHostile: neither log lines nor errors of a plugin fill the log.
func TestLogOfHostile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"logs", "huge-error", "huge-member"} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			a := newAttacked(t, trusting, func(o *host.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			a.swap(hostiletest.Wasm(t, hostile, name))
			if _, err := a.attempt(`{"do":"^"}`); err == nil || len(err.Error()) > 5000 {
				t.Errorf("the attack ended with %.200v", err)
			}
			if n := log.Len(); n > 16<<10 {
				t.Errorf("the log has %d bytes", n)
			}
		})
	}
}
