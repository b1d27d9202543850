package send

import (
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/guest/guesttest"
	"github.com/parley-wasm/parley/plugin/internal/flow/flowtest"
)

const (
	accepted = `{"runId":"run-1","status":"accepted","sessionKey":"agent:ops:main","delivery":{"message":"stored","announce":"pending"}}`
	pending  = `"sessionKey":"agent:ops:main","delivery":{"message":"answered","announce":"pending"}}`
	skipped  = `"sessionKey":"agent:ops:main","delivery":{"message":"answered","announce":"skipped"}}`
)

// TestHostRequests checks the requests of a first step and their order.
func TestHostRequests(t *testing.T) {
	own := string(abi.AppendReply(nil, &abi.SessionReply{Session: &abi.Session{Key: "agent:main:main", LastChannel: "telegram"}}))
	ops := string(abi.AppendReply(nil, &abi.SessionReply{Session: &abi.Session{Key: "agent:ops:main"}}))
	caller := mainCaller
	caller.RunID = "run-0"
	h := guesttest.NewScript(t,
		guesttest.Exchange{Request: `{"op":"get","sessionKey":"agent:ops:main"}`, Reply: ops},
		guesttest.Exchange{Namespace: "agent", Request: `{"op":"waits","sessionKey":"agent:ops:main"}`, Reply: `{"ok":{"waits":false}}`},
		guesttest.Exchange{Request: `{"op":"get","sessionKey":"agent:main:main"}`, Reply: own},
		guesttest.Exchange{Namespace: "agent", Request: `{"op":"run","sessionKey":"agent:ops:main","message":"hello\nthere","source":"agent:main:main","group":"nested",` +
			`"context":"Agent-to-agent message context: requester session agent:main:main, channel telegram, target session main.\nYour answer goes back to the requester."}`,
			Reply: `{"ok":{"runId":"r-1"}}`})
	out, err := Call(h, &guest.Input{AcceptedAt: acceptedAt, Caller: caller, Config: everything, Args: `{"sessionKey":"agent:ops:main","message":" hello\nthere ","timeoutSeconds":1.9}`})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"wait":{"run":"r-1","until":1700000001000,"state":{"phase":"first","run":"r-1","requester":"agent:main:main","target":"agent:ops:main","request":"hello\nthere"},"stateVersion":0},"note":"waiting for agent:ops:main"}`
	if got := string(out.AppendJSON(nil)); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		`{}`:                                    "message is required",
		`{"sessionKey":"main","message":" \n"}`: "message is required",
		`{"sessionKey":"main","message":7}`:     "message must be a string",
		`{"message":"x"}`:                       "sessionKey or label is required",
		`{"sessionKey":" ","label":"","message":"x"}`:                                  "sessionKey or label is required",
		`{"agentId":"ops","message":"x"}`:                                              "sessionKey or label is required",
		`{"sessionKey":"main","label":"x","message":"x"}`:                              "exclude each other",
		`{"sessionKey":"main","agentId":"ops","message":"x"}`:                          "agentId narrows a label only",
		`{"label":"x","agentId":"no good","message":"x"}`:                              `agentId "no good" has an invalid agent id`,
		`{"sessionKey":"main","message":"x","timeoutSeconds":-1}`:                      "timeoutSeconds must be a number of at least 0",
		`{"sessionKey":"main","message":"x","timeoutSeconds":-0.1}`:                    "timeoutSeconds must be a number of at least 0",
		`{"sessionKey":"main","message":"x","timeoutSeconds":"30"}`:                    "timeoutSeconds must be a number",
		`{"sessionKey":"main","message":"x","announce":"parent"}`:                      `announce has the unknown value "parent"; accepted are channel, none`,
		`{"sessionKey":"main","message":"x","announce":true}`:                          "announce must be a string",
		`{"sessionKey":"main","message":"x","timeoutseconds":1}`:                       "its name is timeoutSeconds",
		`{"sessionKey":"main","message":"x","deliver":true}`:                           "accepted are sessionKey, label, agentId, message, timeoutSeconds, announce",
		`{"sessionKey":"main","message":"` + strings.Repeat("x", abi.MaxText+1) + `"}`: "message is longer than 1048576 bytes",
		`[]`: "must be a JSON object",
	} {
		d := drive(t, mainCaller)
		flowtest.WantRefused(t, d.Call(args), false, abi.InvalidArgs, want)
		d.WantRuns()
	}
}

func TestTimeout(t *testing.T) {
	for given, want := range map[string]int64{``: 30, `,"timeoutSeconds":null`: 30, `,"timeoutSeconds":1`: 1, `,"timeoutSeconds":3600.5`: 3600, `,"timeoutSeconds":9e15`: 3600, `,"timeoutSeconds":0.9`: 0} {
		d := drive(t, mainCaller).MustCall(`{"sessionKey":"agent:ops:main","message":"x"` + given + `}`)
		if want > 0 {
			want = acceptedAt + want*1000
		}
		if d.Last.Wait.Until != want {
			t.Errorf("S4.1 %s: until %d, want %d", given, d.Last.Wait.Until, want)
		}
	}
}

// S4.2: of two errors in a call, the tool reports the one that it checks for first.
func TestOrderOfChecks(t *testing.T) {
	deny := func(d *driver) {
		for _, row := range d.Store.Sessions {
			d.Work.Refuse[row.Key] = abi.NewError(abi.Forbidden, "send policy denies it")
		}
	}
	hops := func(d *driver) { d.Caller.Hops = 8 }
	tree := func(d *driver) { d.Config = `{}` }
	tests := []struct {
		name string
		args string
		set  []func(*driver)
		code abi.Code
		text string
	}{
		{"arguments before hops", `{"sessionKey":"agent:ops:main","message":" "}`, []func(*driver){hops}, abi.InvalidArgs, "message is required"},
		{"arguments before visibility", `{"sessionKey":"agent:ops:main","message":"x","timeoutSeconds":-1}`, []func(*driver){tree}, abi.InvalidArgs, "timeoutSeconds"},
		{"arguments before policy", `{"sessionKey":"agent:ops:main","message":"x","announce":"x"}`, []func(*driver){deny}, abi.InvalidArgs, "announce"},
		{"S5.6 hops before reference", `{"sessionKey":"none","message":"x"}`, []func(*driver){hops}, abi.Forbidden, "chain of 8"},
		{"S5.6 hops before visibility", `{"sessionKey":"agent:ops:main","message":"x"}`, []func(*driver){hops, tree}, abi.Forbidden, "chain of 8"},
		{"S5.6 hops before policy", `{"sessionKey":"agent:ops:main","message":"x"}`, []func(*driver){hops, deny}, abi.Forbidden, "chain of 8"},
		{"reference before policy", `{"sessionKey":"none","message":"x"}`, []func(*driver){deny}, abi.NotFound, `no session with the key or sessionId "none"`},
		{"label before policy", `{"label":"none","message":"x"}`, []func(*driver){deny}, abi.NotFound, `no session with the label "none"`},
		{"only visible sessions for an id", `{"sessionKey":"s-ops","message":"x"}`, []func(*driver){tree}, abi.NotFound, "is visible here"},
		{"only visible sessions for a label", `{"label":"ops","message":"x"}`, []func(*driver){tree}, abi.NotFound, "is visible here"},
		{"visibility before existence", `{"sessionKey":"agent:ops:none","message":"x"}`, []func(*driver){tree}, abi.Forbidden, "tools.sessions.visibility"},
		{"visibility before policy", `{"sessionKey":"agent:ops:main","message":"x"}`, []func(*driver){tree, deny}, abi.Forbidden, "tools.sessions.visibility"},
		{"visibility before archived", `{"sessionKey":"agent:main:old","message":"x"}`, []func(*driver){tree}, abi.Forbidden, "tools.sessions.visibility"},
		{"existence before policy", `{"sessionKey":"agent:ops:none","message":"x"}`, []func(*driver){deny}, abi.NotFound, "does not exist"},
		{"archived before policy", `{"sessionKey":"agent:main:old","message":"x"}`, []func(*driver){deny}, abi.NotFound, "is archived"},
		{"archived, by id", `{"sessionKey":"s-old","message":"x"}`, nil, abi.NotFound, `session "s-old" is archived`},
		{"archived, by label", `{"label":"old","message":"x"}`, nil, abi.NotFound, `session "old" is archived`},
		{"S8.3 policy", `{"sessionKey":"agent:ops:main","message":"x"}`, []func(*driver){deny}, abi.Forbidden, "send policy denies it"},
		{"S8.3 policy without a wait", `{"sessionKey":"agent:ops:main","message":"x","timeoutSeconds":0}`, []func(*driver){deny}, abi.Forbidden, "send policy denies it"},
		{"S7.3 sandboxed", `{"sessionKey":"agent:ops:main","message":"x"}`, []func(*driver){func(d *driver) { d.Caller.Sandboxed = true }}, abi.Forbidden, "sandboxed"},
		{"S0.3 current for the operator", `{"sessionKey":"current","message":"x"}`, []func(*driver){func(d *driver) { d.Caller = operator }}, abi.InvalidArgs, "the operator has none"},
		{"S1.3 reserved", `{"sessionKey":"global","message":"x"}`, nil, abi.InvalidArgs, "reserved"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := drive(t, mainCaller)
			for _, set := range tt.set {
				set(d)
			}
			flowtest.WantRefused(t, d.Call(tt.args), false, tt.code, tt.text)
			d.WantRuns()
		})
	}
}

func TestLabels(t *testing.T) {
	tests := []struct{ name, args, target, text string }{
		{"one", `{"label":"ops","message":"x"}`, "agent:ops:main", ""},
		{"several matches", `{"label":"twin","message":"x"}`, "", "agent:main:cron:daily, agent:ops:cron:daily"},
		{"several matches, one with agentId", `{"label":"twin","agentId":"OPS","message":"x"}`, "agent:ops:cron:daily", ""},
		{"no match with agentId", `{"label":"ops","agentId":"main","message":"x"}`, "", `the label "ops" and the agent main`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := drive(t, mainCaller)
			err := d.Call(tt.args)
			switch {
			case tt.text != "":
				if err == nil || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("S4.1 got %v, want %s", err, tt.text)
				}
				d.WantRuns()
			case err != nil:
				t.Error(err)
			default:
				d.WantRuns("nested agent:main:main > " + tt.target + ": x")
			}
		})
	}
}

// S4.3 and S4.4: the first step's answer and wait.
func TestFirstStep(t *testing.T) {
	const toItself = `{"runId":"run-1","status":"accepted","sessionKey":"main","delivery":{"message":"stored","announce":"skipped"}}`
	inRun := mainCaller
	inRun.RunID = "run-0"
	tests := []struct {
		name   string
		caller abi.Caller
		args   string
		result string
		until  int64
	}{
		{"waits", mainCaller, `{"sessionKey":"agent:ops:main","message":"x"}`, "", acceptedAt + 30_000},
		{"waits, call from a run", inRun, `{"sessionKey":"agent:ops:main","message":"x"}`, "", acceptedAt + 30_000},
		{"the operator waits", operator, `{"sessionKey":"agent:ops:main","message":"x"}`, "", acceptedAt + 30_000},
		{"no wait", mainCaller, `{"sessionKey":"agent:ops:main","message":"x","timeoutSeconds":0}`, accepted, 0},
		{"no wait, no announce", mainCaller, `{"sessionKey":"agent:ops:main","message":"x","timeoutSeconds":0,"announce":"none"}`, strings.Replace(accepted, "pending", "skipped", 1), 0},
		{"wait would deadlock", inRun, `{"sessionKey":"agent:ops:cron:daily","message":"x"}`, strings.Replace(accepted, "ops:main", "ops:cron:daily", 1), 0},
		{"the session waits for another run", mainCaller, `{"sessionKey":"agent:ops:cron:daily","message":"x"}`, "", acceptedAt + 30_000},
		{"to itself", mainCaller, `{"sessionKey":"main","message":"x"}`, toItself, 0},
		{"to itself, in a run", inRun, `{"sessionKey":"current","message":"x"}`, toItself, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := drive(t, tt.caller)
			d.Work.Waiting = []string{"agent:ops:cron:daily"}
			d.MustCall(tt.args).WantResult(tt.result)
			if w := d.Last.Wait; w.Run != "run-1" || w.Until != tt.until || d.Last.Code != "" {
				t.Errorf("%+v, %s", w, d.Last.Code)
			}
			if len(d.Work.Runs) != 1 || d.Work.Runs[0].TimeoutSeconds != 0 || d.Work.Runs[0].Source != tt.caller.SessionKey {
				t.Errorf("runs %+v", d.Work.Runs)
			}
		})
	}
}

// Refusals that are not the tool's result fail the step.
func TestFirstStepFaults(t *testing.T) {
	for _, code := range []abi.Code{abi.Conflict, abi.Limit, abi.Internal, abi.InvalidArgs} {
		d := drive(t, mainCaller)
		d.Work.Refuse["agent:ops:main"] = abi.NewError(code, "because")
		flowtest.WantRefused(t, d.Call(`{"sessionKey":"agent:ops:main","message":"x"}`), true, code, "because")
	}
	d := drive(t, mainCaller)
	d.Work.Refuse["agent:ops:main"] = abi.NewError(abi.NotFound, "gone meanwhile")
	flowtest.WantRefused(t, d.Call(`{"sessionKey":"agent:ops:main","message":"x"}`), false, abi.NotFound, "gone meanwhile")
	d.Config = `{"tools":{"sessions":{"visibility":"x"}}}`
	flowtest.WantRefused(t, d.Call(`{"sessionKey":"main","message":"x"}`), true, abi.Internal, "visibility")
}
