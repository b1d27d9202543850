// Package invoke knows the shapes of OpenClaw's POST /tools/invoke: the request
// body, and which status and body answer what.
//
//	request  {"tool": NAME, "action"?: TEXT, "args"?: {…}, "sessionKey"?: KEY, "dryRun"?: BOOL}
//	success  {"ok": true, "result": {"content": [{"type": "text", "text": "…"}], "details": {…}}}
//	failure  {"ok": false, "error": {"type": "…", "message": "…"}}
//
// Unlike OpenClaw it reads strictly: unknown and repeated members are refused,
// because a misspelt sessionKey would otherwise run a tool as somebody else.
package invoke

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// Headers of a request: the operator's channel context.
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

// Parse reads a request body. It fails with abi.InvalidArgs and a text for the
// client.
func Parse(body []byte) (*Request, error) {
	if err := jsonstrict.Check(body); err != nil {
		return nil, invalid("the body is not strict JSON: " + err.Error())
	}
	doc := gjson.ParseBytes(body)
	if !doc.IsObject() {
		return nil, invalid(`the body must be a JSON object such as {"tool": "sessions_list", "args": {}}`)
	}
	r := &Request{Args: []byte("{}")}
	var err error
	doc.ForEach(func(name, v gjson.Result) bool {
		err = r.set(name.String(), v)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	if r.Tool == "" {
		return nil, invalid(`no tool; name one, as in {"tool": "sessions_list"}`)
	}
	return r, nil
}

// set takes one member. null is as good as absent.
func (r *Request) set(name string, v gjson.Result) error {
	var text *string
	switch name {
	case "tool":
		text = &r.Tool
	case "action":
		text = &r.Action
	case "sessionKey":
		text = &r.SessionKey
	case "args":
		if v.IsObject() {
			r.Args = []byte(v.Raw)
		} else if v.Type != gjson.Null {
			return invalid("args must be a JSON object")
		}
		return nil
	case "dryRun":
		if !v.IsBool() && v.Type != gjson.Null {
			return invalid("dryRun must be true or false")
		}
		r.DryRun = v.Bool()
		return nil
	default:
		return invalid(fmt.Sprintf("unknown member %q; known are tool, action, args, sessionKey, dryRun", clip(name)))
	}
	if v.Type != gjson.String && v.Type != gjson.Null {
		return invalid(name + " must be a string")
	}
	*text = strings.TrimSpace(v.String())
	return nil
}

// Merged returns the arguments with the request's action among them, if it has
// one, the tool's input schema knows a parameter "action", and the arguments do
// not give it themselves. Other tools' action is ignored, as OpenClaw does.
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
