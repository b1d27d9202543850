package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// maxArgumentDepth leaves room for the documents that enclose arguments: a message,
// and the results and replies that enclose messages.
const maxArgumentDepth = abi.MaxDepth - 16

// Arguments returns a model's arguments for a tool in the form of Call.Args. Empty
// arguments become {}. Invalid ones become a JSON string, so that the transcript
// shows what the model wrote.
func Arguments(written string) json.RawMessage {
	written = strings.TrimSpace(written)
	if written == "" {
		return json.RawMessage("{}")
	}
	if args := json.RawMessage(written); jsonstrict.CheckDepth(args, maxArgumentDepth) == nil {
		return args
	}
	return encode(strings.ToValidUTF8(written, "\uFFFD"))
}

// check returns an error, for the model, if the arguments are not a JSON object.
func (c *Call) check() error {
	var written string
	if json.Unmarshal(c.Args, &written) == nil {
		if err := jsonstrict.CheckDepth([]byte(written), maxArgumentDepth); err != nil {
			return errors.New("the arguments are not valid JSON: " + err.Error())
		}
	}
	if !bytes.HasPrefix(bytes.TrimSpace(c.Args), []byte("{")) {
		return errors.New("the arguments are not a JSON object")
	}
	return nil
}

// key returns a key that is equal for equal calls.
func (c *Call) key() string {
	var args any
	d := json.NewDecoder(bytes.NewReader(c.Args))
	d.UseNumber()
	if d.Decode(&args) != nil {
		return c.Tool + " " + string(c.Args)
	}
	return c.Tool + " " + string(encode(args)) // members sorted
}
