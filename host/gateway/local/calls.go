package local

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/store"
)

// maxAnswer bounds an answer, in bytes. The engine's bound for results is lower.
const maxAnswer = 64 << 20

// Call makes a tool call in the owner. It returns the errors of host.Host.Call and this
// package's own. It ignores call.Wait: only the owner knows when the call waits.
func (c *Client) Call(ctx context.Context, call *host.Call) (*host.Answer, error) {
	q := CallRequest{Tool: call.Tool, Args: call.Args, Caller: &call.Caller, ID: call.ID}
	doc, err := c.ask(ctx, http.MethodPost, "/v1/call", CallMembers.Append(nil, &q))
	if err != nil {
		return nil, err
	}
	answer := &host.Answer{}
	AnswerMembers.Read(doc, answer, jsonobject.Tolerant)
	return answer, nil
}

// refresh fetches the owner's current status and tools.
func (c *Client) refresh(ctx context.Context) error {
	now := new(served)
	if err := c.get(ctx, "/v1/status", &now.status); err != nil {
		return err
	}
	doc, err := c.ask(ctx, http.MethodGet, "/v1/tools", nil)
	if err != nil {
		return err
	}
	if now.tools, err = host.ParseTools([]byte(doc.Raw)); err == nil {
		c.served.Store(now)
	}
	return err
}

// ToolsFor returns the tools that the caller may use. It asks the owner, because the
// owner's settings and plugin may have changed.
func (c *Client) ToolsFor(ctx context.Context, caller abi.Caller) ([]abi.Tool, error) {
	query := url.Values{QueryCaller: {string(caller.AppendJSON(nil))}}
	doc, err := c.ask(ctx, http.MethodGet, "/v1/tools?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	if len(doc.Get("tools").Array()) == 0 {
		return []abi.Tool{}, nil
	}
	return host.ParseTools([]byte(doc.Raw))
}

// ask sends a request and returns the JSON object of its answer, or an error.
func (c *Client) ask(ctx context.Context, method, path string, body []byte) (doc gjson.Result, err error) {
	err = c.do(ctx, method, path, body, func(r *http.Response) error {
		text, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
		if err != nil {
			return err
		}
		doc = gjson.ParseBytes(text)
		if r.StatusCode != http.StatusOK {
			return wireError(r.StatusCode, doc)
		}
		if !doc.IsObject() {
			return fmt.Errorf("local: %s %s: the owner's answer is not a JSON object", method, path)
		}
		return nil
	})
	return doc, err
}

// wireError converts an error answer back to an *abi.Error.
func wireError(status int, doc gjson.Result) error {
	code, message := abi.Code(doc.Get("error.code").Str), doc.Get("error.message").Str
	if !code.Known() {
		code = abi.Internal
	}
	if message == "" {
		message = fmt.Sprintf("the owner answered with HTTP status %d", status)
	}
	e := &abi.Error{Code: code, Message: message}
	if status == http.StatusInsufficientStorage {
		e.Cause = store.ErrFull
	}
	return e
}
