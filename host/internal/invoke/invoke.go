// Package invoke parses and writes the bodies of OpenClaw's POST /tools/invoke.
//
//	request  {"tool": NAME, "action"?: TEXT, "args"?: {…}, "sessionKey"?: KEY, "dryRun"?: BOOL}
//	success  {"ok": true, "result": {"content": [{"type": "text", "text": "…"}], "details": {…}}}
//	failure  {"ok": false, "error": {"type": "…", "message": "…"}}
//
// Unlike OpenClaw, it refuses unknown and repeated members: with a misspelt sessionKey
// the tool would otherwise run as another session.
package invoke

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// Request headers that give the operator's channel context.
const (
	HeaderChannel = "X-Openclaw-Message-Channel"
	HeaderAccount = "X-Openclaw-Account-Id"
)

// MaxBody bounds the request body, in bytes.
const MaxBody = 2 << 20

// Request is a parsed body. Absent members are empty.
type Request struct {
	Tool       string
	Action     string
	Args       []byte // a JSON object
	SessionKey string
	DryRun     bool
}

var members = jsonobject.New(
	jsonobject.Optional("tool", jsonobject.Text, func(r *Request) any { return &r.Tool }),
	jsonobject.Optional("action", jsonobject.Text, func(r *Request) any { return &r.Action }),
	jsonobject.Optional("args", jsonobject.Object, func(r *Request) any { return &r.Args }),
	jsonobject.Optional("sessionKey", jsonobject.Text, func(r *Request) any { return &r.SessionKey }),
	jsonobject.Optional("dryRun", jsonobject.Flag, func(r *Request) any { return &r.DryRun }),
)

// Parse parses a request body. It fails with abi.InvalidArgs and a text for the client.
func Parse(body []byte) (*Request, error) {
	if err := jsonstrict.Check(body); err != nil {
		return nil, invalid("the body is not strict JSON: " + err.Error())
	}
	r := &Request{Args: []byte("{}")}
	switch p := members.Read(gjson.ParseBytes(body), r, jsonobject.Nullable); {
	case p == nil:
	case p.Document():
		return nil, invalid(`the body must be a JSON object such as {"tool": "sessions_list", "args": {}}`)
	default:
		p.Name = clip(p.Name)
		return nil, invalid(p.Error())
	}
	r.Tool, r.Action, r.SessionKey = strings.TrimSpace(r.Tool), strings.TrimSpace(r.Action), strings.TrimSpace(r.SessionKey)
	if r.Tool == "" {
		return nil, invalid(`no tool; name one, as in {"tool": "sessions_list"}`)
	}
	return r, nil
}

// Merged returns the tool's arguments. It adds the request's action as the argument
// "action" if the tool's input schema has that parameter and the arguments do not
// contain it. Otherwise the action is ignored, as in OpenClaw.
func (r *Request) Merged(inputSchema []byte) []byte {
	if r.Action == "" || !gjson.GetBytes(inputSchema, "properties.action").Exists() || gjson.GetBytes(r.Args, "action").Exists() {
		return r.Args
	}
	o := jsonappend.Open(nil)
	o.String("action", r.Action)
	gjson.ParseBytes(r.Args).ForEach(func(name, v gjson.Result) bool {
		o.Raw(name.String(), []byte(v.Raw))
		return true
	})
	return o.Close()
}

func invalid(message string) error { return abi.NewError(abi.InvalidArgs, message) }

func clip(s string) string {
	const most = 60
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}
