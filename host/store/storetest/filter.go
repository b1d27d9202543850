package storetest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// matchesFilter reports whether the session matches the request's filters. It
// implements the semantics of abi.ListRequest one condition after the other.
func matchesFilter(r *abi.ListRequest, s *abi.Session) bool {
	mainKey := r.MainKey
	if mainKey == "" {
		mainKey = "main"
	}
	_, rest, _ := sessionkey.Split(s.Key)
	agent, kind := s.AgentID, s.Kind
	switch {
	case s.Key == "global" && r.Global != "":
		agent, kind = r.Global, sessionkey.KindMain
	case s.Key == "global", s.Key == "unknown", rest == "global", rest == "unknown":
		return false
	case r.Global != "" && rest == mainKey, (r.Global != "" || mainKey != "main") && rest == "main":
		return false
	case rest == mainKey:
		kind = sessionkey.KindMain
	}
	if r.Scope != nil {
		seen := slices.Contains(r.Scope.Keys, s.Key) || r.Scope.SpawnedBy != "" && r.Scope.SpawnedBy == s.SpawnedBy
		for _, pattern := range r.Scope.Agents {
			seen = seen || regexp.MustCompile("^"+strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")+"$").MatchString(agent)
		}
		if !seen {
			return false
		}
	}
	switch {
	case len(r.Kinds) > 0 && !slices.Contains(r.Kinds, kind),
		r.AgentID != "" && r.AgentID != agent,
		r.Label != "" && r.Label != s.Label,
		r.ActiveSince != 0 && s.UpdatedAt < r.ActiveSince,
		!r.IncludeArchived && s.ArchivedAt != 0:
		return false
	}
	if r.Search == "" {
		return true
	}
	search := regexp.MustCompile("(?i)" + regexp.QuoteMeta(r.Search))
	return slices.ContainsFunc([]string{s.Key, s.Label, s.DisplayName, s.Subject}, search.MatchString)
}
