package relational

import (
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// visibility decides which sessions are visible to a request, by its scope and its
// settings of session keys.
type visibility struct {
	scope  *abi.Scope
	keys   sessionkey.Settings
	global string // the agent that owns the session "global"; empty = it is hidden
}

func newVisibility(scope *abi.Scope, mainKey, global string) visibility {
	if mainKey == "" {
		mainKey = sessionkey.DefaultMainKey
	}
	return visibility{scope, sessionkey.Settings{MainKey: mainKey, GlobalScope: global != ""}, global}
}

// agentOf returns the agent to which the session is attributed.
func (v *visibility) agentOf(s *abi.Session) string {
	if s.Key == sessionkey.Global {
		return v.global
	}
	return s.AgentID
}

// shows reports whether the session is within the scope and not hidden (S1.3).
func (v *visibility) shows(s *abi.Session) bool {
	if v.keys.Hidden(s.Key) {
		return false
	}
	return v.scope == nil || v.showsAgent(v.agentOf(s)) || slices.Contains(v.scope.Keys, s.Key) ||
		v.scope.SpawnedBy != "" && v.scope.SpawnedBy == s.SpawnedBy
}

// showsAll reports whether every agent's sessions are within the scope.
func (v *visibility) showsAll() bool {
	return v.scope == nil || slices.ContainsFunc(v.scope.Agents, func(p string) bool { return p != "" && strings.Trim(p, "*") == "" })
}

// showsAgent reports whether all sessions of the agent are within the scope.
func (v *visibility) showsAgent(id string) bool {
	return v.scope == nil || slices.ContainsFunc(v.scope.Agents, func(p string) bool { return match(p, id) })
}

// match reports whether text matches the pattern, in which * matches any sequence of
// characters.
func match(pattern, text string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, head)
	for ok && wild {
		var part string
		if part, rest, wild = strings.Cut(rest, "*"); !wild {
			return strings.HasSuffix(text, part)
		}
		_, text, ok = strings.Cut(text, part)
	}
	return ok
}
