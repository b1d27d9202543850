package invoke

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
)

// Types of error.
const (
	ToolError        = "tool_error"
	InvalidRequest   = "invalid_request"
	Unauthorized     = "unauthorized"
	Forbidden        = "forbidden"
	NotFound         = "not_found"
	MethodNotAllowed = "method_not_allowed"
	TooLarge         = "payload_too_large"
	TooManyRequests  = "too_many_requests"
	Timeout          = "timeout"
	Internal         = "internal"
)

// Reply is a status with its JSON body.
type Reply struct {
	Status int
	Body   []byte
}

// Failure is the reply to a request that was not answered by a tool.
func Failure(status int, kind, message string) Reply {
	o := jsonappend.Open(nil)
	o.Raw("ok", []byte("false"))
	e := jsonappend.Open(o.Key("error"))
	e.String("type", kind)
	e.String("message", message)
	o.Value(e.Close())
	return Reply{status, o.Close()}
}

// Answer is the reply to a call that the tool answered. A missing or wrong
// argument is 400; every other failure of the tool is a result like any other.
func Answer(result []byte, code abi.Code) Reply {
	if code == abi.InvalidArgs {
		return Failure(http.StatusBadRequest, ToolError, gjson.GetBytes(result, "error").String())
	}
	return success(result)
}

// Dry is the reply to a request with dryRun: what would have been run, and as
// whom. Nothing was.
func Dry(tool string, args []byte, caller *abi.Caller) Reply {
	o := jsonappend.Open(nil)
	o.Raw("dryRun", []byte("true"))
	o.String("tool", tool)
	o.Raw("args", args)
	o.OptString("sessionKey", caller.SessionKey)
	return success(o.Close())
}

func success(result []byte) Reply {
	var text bytes.Buffer
	if err := json.Indent(&text, result, "", "  "); err != nil {
		return Fault(err)
	}
	o := jsonappend.Open(make([]byte, 0, 3*len(result)))
	o.Raw("ok", []byte("true"))
	r := jsonappend.Open(o.Key("result"))
	c := jsonappend.Open(append(r.Key("content"), '['))
	c.String("type", "text")
	c.String("text", text.String())
	r.Value(append(c.Close(), ']'))
	r.Raw("details", result)
	o.Value(r.Close())
	return Reply{http.StatusOK, o.Close()}
}

// Unavailable is the reply when there is no such tool, or not for this caller.
func Unavailable(tool string) Reply {
	return Failure(http.StatusNotFound, NotFound, "Tool not available: "+clip(tool))
}

// Fault is the reply to a call that got no answer. Only what the client can
// change is told.
func Fault(err error) Reply {
	var e *abi.Error
	if errors.As(err, &e) {
		switch e.Code {
		case abi.InvalidArgs:
			return Failure(http.StatusBadRequest, InvalidRequest, e.Message)
		case abi.Forbidden:
			return Failure(http.StatusForbidden, Forbidden, e.Message)
		case abi.NotFound, abi.Unsupported:
			return Failure(http.StatusNotFound, NotFound, e.Message)
		}
	}
	return Failure(http.StatusInternalServerError, ToolError, "tool execution failed; the gateway's log has the details")
}
