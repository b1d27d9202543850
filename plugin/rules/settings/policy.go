package settings

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
)

// ChildTools reads tools.subagents.tools (S5.4). Like Parse, it fails for a malformed
// value, so that a mistake does not allow a tool.
func ChildTools(config string) (policy.Tools, *abi.Error) {
	p := parser{config: gjson.Parse(config)}
	t := policy.Tools{Allow: p.strings("tools.subagents.tools.allow"), Deny: p.strings("tools.subagents.tools.deny")}
	return t, p.err
}

// Send reads session.sendPolicy (S8.1).
func Send(config string) (policy.Send, *abi.Error) {
	const rules = "session.sendPolicy.rules"
	p := parser{config: gjson.Parse(config)}
	var send policy.Send
	if p.oneOf("session.sendPolicy.default", policy.Allow, policy.Deny) == 1 {
		send.Default = policy.Deny
	}
	p.list(rules, "{action: allow or deny, match: {channel, chatType, keyPrefix}}", func(rule gjson.Result) bool {
		r, ok := readRule(rule)
		send.Rules = append(send.Rules, r)
		return ok
	})
	return send, p.err
}

// readRule reads a rule, and reports whether all its members and their values are
// valid. If readRule ignored an unknown member, the rule would match more than intended.
func readRule(v gjson.Result) (r policy.Rule, ok bool) {
	ok = v.IsObject()
	v.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "action":
			r.Action = v.Str
		case "match":
			ok = ok && v.IsObject()
			v.ForEach(func(name, v gjson.Result) bool {
				switch name.Str {
				case "channel":
					r.Channel = strings.TrimSpace(v.Str)
					ok = ok && r.Channel != ""
				case "chatType":
					r.ChatType = v.Str
					ok = ok && (v.Str == policy.ChatDirect || v.Str == policy.ChatGroup || v.Str == policy.ChatChannel)
				case "keyPrefix":
					r.KeyPrefix = strings.TrimSpace(v.Str)
					ok = ok && r.KeyPrefix != ""
				default:
					ok = false
				}
				ok = ok && v.Type == gjson.String
				return ok
			})
		default:
			ok = false
		}
		return ok
	})
	return r, ok && (r.Action == policy.Allow || r.Action == policy.Deny)
}

// Sandboxed reports whether a session of the agent is sandboxed by
// agents.list[].sandbox.mode, else agents.defaults.sandbox.mode (S7.3).
func (s *Settings) Sandboxed(config, agentID, sessionKey string) (bool, *abi.Error) {
	modes := [...]string{policy.SandboxOff, policy.SandboxNonMain, policy.SandboxAlways}
	p := parser{config: gjson.Parse(config)}
	mode := modes[p.oneOf("agents.defaults.sandbox.mode", modes[:]...)]
	for _, a := range p.config.Get("agents.list").Array() {
		if lower(a.Get("id").Str) != agentID {
			continue
		}
		box := a.Get("sandbox")
		if own := box.Get("mode"); own.Type != gjson.Null {
			mode = modes[p.choice("agents.list[].sandbox.mode", own, modes[:]...)]
		} else if box.Type != gjson.Null && !box.IsObject() {
			p.fail("agents.list[].sandbox", box.Raw, "objects")
		}
		break // of two agents with the same id the first counts
	}
	return policy.Sandboxed(mode, s.Keys, agentID, sessionKey), p.err
}
