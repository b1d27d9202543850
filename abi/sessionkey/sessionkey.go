// Package sessionkey implements the grammar of session keys (S1): canonical keys,
// aliases, kinds and agent ids. A canonical key is agent:<agentId>:<rest>, or the
// single word global.
//
// Guest and host share the package, because the plugin must ask for a session by the
// key under which the host stores it.
package sessionkey

import (
	"strings"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
)

// Reserved words and defaults (S1.2, S1.3).
const (
	Main    = "main"    // main session of the caller's agent
	Current = "current" // the calling session
	Global  = "global"  // single session of session.scope "global"; also its stored key
	Unknown = "unknown" // never names a session

	DefaultMainKey = "main"
	DefaultAgent   = "main"
)

// Kinds of session (S1.6). All but KindMain depend on the key alone.
const (
	KindMain  = "main"
	KindGroup = "group"
	KindCron  = "cron"
	KindHook  = "hook"
	KindNode  = "node"
	KindOther = "other"
)

// Kinds lists every kind, in the order of S1.6.
var Kinds = []string{KindMain, KindGroup, KindCron, KindHook, KindNode, KindOther}

// Settings are the settings on which keys depend. The zero value holds the defaults.
type Settings struct {
	MainKey      string // session.mainKey; empty: "main"
	GlobalScope  bool   // session.scope is "global"
	DefaultAgent string // agent with agents.list[].default, else the first of the list; empty: "main"
}

func (s Settings) mainKey() string {
	if s.MainKey == "" {
		return DefaultMainKey
	}
	return s.MainKey
}

// Agent returns the default agent's id.
func (s Settings) Agent() string {
	if s.DefaultAgent == "" {
		return DefaultAgent
	}
	return s.DefaultAgent
}

// MainOf returns the canonical key of the main session of agentID, or of the default
// agent if agentID is empty.
func (s Settings) MainOf(agentID string) string {
	if s.GlobalScope {
		return Global
	}
	if agentID == "" {
		agentID = s.Agent()
	}
	return Join(agentID, s.mainKey())
}

// IsMain reports whether the canonical key is that of an agent's main session.
func (s Settings) IsMain(key string) bool {
	if s.GlobalScope {
		return key == Global
	}
	_, rest, ok := Split(key)
	return ok && rest == s.mainKey()
}

// KindOf returns the kind of the canonical key under these settings (S1.6).
func (s Settings) KindOf(key string) string {
	if s.IsMain(key) {
		return KindMain
	}
	return Kind(key)
}

// Display returns the key as the tools show it to a caller whose agent is agentID: "main"
// for that agent's main session, every other key unchanged (S1.2). Under the global scope
// all agents share one main session (S1.3).
func (s Settings) Display(key, agentID string) string {
	if s.GlobalScope && key == Global {
		return Main
	}
	id, rest, ok := Split(key)
	if !ok || rest != s.mainKey() {
		return key
	}
	if s.GlobalScope || id == agentID || agentID == "" && id == s.Agent() {
		return Main
	}
	return key
}

// Hidden reports whether a stored session is never listed or found, because its key is
// a reserved word or, under these settings, an alias of another session (S1.2, S1.3).
func (s Settings) Hidden(key string) bool {
	if key == Global {
		return !s.GlobalScope
	}
	_, rest, ok := Split(key)
	if !ok {
		return key == Unknown
	}
	alias := rest == s.mainKey() && s.GlobalScope || rest == Main && s.MainOf(Main) != Join(Main, Main)
	return alias || rest == Global || rest == Unknown
}

// Canonical returns the canonical key for a text from a caller whose agent is agentID
// (the default agent if agentID is empty; S1.1–S1.4). The text is "main", a canonical key,
// an alias, or else the <rest> of a key of that agent, such as cron:daily. Canonical
// returns abi.InvalidArgs for texts that cannot be keys, and for reserved words. The
// caller must resolve "current" itself.
func (s Settings) Canonical(text, agentID string) (string, error) {
	if err := Check(text); err != nil {
		return "", err
	}
	switch text {
	case Main:
		return s.MainOf(agentID), nil
	case Current, Global, Unknown:
		return "", invalid("is a reserved word, not a session key")
	}
	rest := text
	if after, ok := strings.CutPrefix(text, "agent:"); ok {
		id, tail, ok := strings.Cut(after, ":")
		if !ok || tail == "" {
			return "", invalid("names an agent but no session; write agent:<agentId>:<rest>")
		}
		var err error
		if agentID, err = AgentID(id); err != nil {
			return "", err
		}
		rest = tail
	}
	switch rest {
	case Main, s.mainKey():
		return s.MainOf(agentID), nil
	case Global, Unknown:
		return "", invalid("uses a reserved word, not a session key")
	}
	if agentID == "" {
		agentID = s.Agent()
	}
	key := Join(agentID, rest)
	if len(key) > abi.MaxSessionKey {
		return "", invalid("is longer than 512 bytes as a full session key")
	}
	return key, nil
}

// HasKeyForm reports whether a reference has the form of a key. Such a reference is never
// looked up as a sessionId (S1.5).
func HasKeyForm(text string) bool {
	if text == Main || text == Current {
		return true
	}
	for _, p := range [...]string{"agent:", "cron:", "hook:", "node-", "subagent:"} {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return strings.Contains(text, ":group:") || strings.Contains(text, ":channel:")
}

// Check returns abi.InvalidArgs for a text that can be neither a key nor a session id:
// it is empty, too long, not UTF-8, or contains control characters.
func Check(text string) error {
	switch {
	case text == "":
		return invalid("is empty")
	case len(text) > abi.MaxSessionKey:
		return invalid("is longer than 512 bytes")
	case !utf8.ValidString(text):
		return invalid("is not valid UTF-8")
	}
	for _, r := range text {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return invalid("contains control characters")
		}
	}
	return nil
}

// Split splits a canonical key into agent and rest. It returns false for "global" and
// for texts that are not canonical keys.
func Split(key string) (agentID, rest string, ok bool) {
	after, ok := strings.CutPrefix(key, "agent:")
	if !ok {
		return "", "", false
	}
	agentID, rest, ok = strings.Cut(after, ":")
	return agentID, rest, ok && agentID != "" && rest != ""
}

// Join returns the canonical key of an agent and a rest.
func Join(agentID, rest string) string { return "agent:" + agentID + ":" + rest }

// Kind returns the structural kind of a canonical key. It never returns KindMain, which
// depends on settings: see Settings.KindOf.
func Kind(key string) string {
	_, rest, ok := Split(key)
	switch {
	case !ok:
		return KindOther
	case strings.HasPrefix(rest, "cron:"):
		return KindCron
	case strings.HasPrefix(rest, "hook:"):
		return KindHook
	case strings.HasPrefix(rest, "node-"):
		return KindNode
	case strings.HasPrefix(rest, "subagent:"):
		return KindOther
	}
	if _, ok := ParseGroup(key); ok {
		return KindGroup
	}
	return KindOther
}

// ChildOf returns the key of a spawned child under an agent.
func ChildOf(agentID, id string) string { return Join(agentID, "subagent:"+id) }

// IsChild reports whether the key belongs to a spawned child.
func IsChild(key string) bool {
	_, rest, ok := Split(key)
	return ok && strings.HasPrefix(rest, "subagent:")
}

// AgentID lower-cases the ASCII letters of text and checks it against
// [a-z0-9][a-z0-9_-]{0,63}. It changes nothing else, so letters whose Unicode lower
// case is ASCII (the Kelvin sign) are refused (S1.4).
func AgentID(text string) (string, error) {
	id := lowerASCII(text)
	if !validAgentID(id) {
		return "", invalid("has an invalid agent id; one is 1 to 64 of a-z, 0-9, _ and -, and starts with a letter or digit")
	}
	return id, nil
}

func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

func validAgentID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case (c == '_' || c == '-') && i > 0:
		default:
			return false
		}
	}
	return true
}

func invalid(what string) error { return abi.NewError(abi.InvalidArgs, what) }
