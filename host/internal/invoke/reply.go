package invoke

import (
	"bytes"
	"encoding/json"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
)

// Result returns the response body for a tool's result. It fails if the result is not
// JSON.
func Result(result []byte) ([]byte, error) {
	var text bytes.Buffer
	if err := json.Indent(&text, result, "", "  "); err != nil {
		return nil, err
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
	return o.Close(), nil
}

// DryRun returns the response body for a request with dryRun: the tool, arguments and
// session of the call that was not made.
func DryRun(tool string, args []byte, caller *abi.Caller) ([]byte, error) {
	o := jsonappend.Open(nil)
	o.Raw("dryRun", []byte("true"))
	o.String("tool", tool)
	o.Raw("args", args)
	o.OptString("sessionKey", caller.SessionKey)
	return Result(o.Close())
}
