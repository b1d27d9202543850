package guest

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
)

// Question is the input of derive: what follows from this session under these
// settings? Target is nil when it is not about another one than the session's.
type Question struct {
	Session abi.Session
	Target  *abi.Target
	Config  string
}

// ParseQuestion reads the input of derive, as ParseInput reads that of a step.
func ParseQuestion(doc string) (*Question, *abi.Error) {
	input := gjson.Parse(doc)
	if bad := checkVersion(input); bad != nil {
		return nil, bad
	}
	if bad := check(input, theInput, questionMembers); bad != nil {
		return nil, bad
	}
	session, target, config := input.Get("session"), input.Get("target"), input.Get("config")
	if bad := checkSession(session); bad != nil {
		return nil, bad
	}
	q := &Question{Config: config.Raw}
	readSession(session, &q.Session)
	if target.Exists() {
		if bad := check(target, "target", targetMembers); bad != nil {
			return nil, bad
		}
		q.Target = &abi.Target{}
		readTarget(target, q.Target)
	}
	return q, nil
}

// checkSession is stricter than what replies are read with: what decides over policy
// and sandbox must not be passed over.
func checkSession(v gjson.Result) *abi.Error {
	if bad := check(v, "session", sessionMembers); bad != nil {
		return bad
	}
	if c := v.Get("deliveryContext"); c.Exists() {
		if bad := check(c, "session.deliveryContext", targetMembers); bad != nil {
			return bad
		}
	}
	switch p := v.Get("sendPolicy"); p.Str {
	case "", policy.Allow, policy.Deny:
	default:
		return badInput("session.sendPolicy must be allow or deny")
	}
	switch t := v.Get("chatType"); t.Str {
	case "", policy.ChatDirect, policy.ChatGroup, policy.ChatChannel:
	default:
		return badInput("session.chatType must be direct, group or channel")
	}
	return nil
}
