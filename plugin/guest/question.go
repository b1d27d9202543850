package guest

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/quote"
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
	q := &Question{}
	var bad *abi.Error
	input.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "abi":
		case "session":
			readSession(v, &q.Session)
		case "target":
			q.Target = &abi.Target{}
			readTarget(v, q.Target)
		case "config":
			q.Config = v.Raw
		default:
			bad = badInput("it has an unknown member " + quote.Text(name.Str))
		}
		return bad == nil
	})
	return q, bad
}
