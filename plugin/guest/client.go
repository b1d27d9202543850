package guest

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/plugin/internal/view"
)

// Client calls the host functions during one step. Every method returns a *Fault
// if the host refuses the request or its reply is malformed.
type Client struct {
	host Host
	buf  []byte // the current request; reused by the next call
}

// startRows bounds the capacity that List and History allocate before they read a page.
const startRows = 64

// NewClient returns a Client that calls h.
func NewClient(h Host) *Client { return &Client{host: h} }

// Get returns the session with this canonical key, or nil.
func (c *Client) Get(key string) (*abi.Session, error) {
	q := abi.GetRequest{SessionKey: key}
	c.buf = q.AppendJSON(c.buf[:0])
	return c.session(abi.OpGet)
}

// Resolve returns the newest session in q.Scope with q.SessionID, or nil.
func (c *Client) Resolve(q *abi.ResolveRequest) (*abi.Session, error) {
	c.buf = q.AppendJSON(c.buf[:0])
	return c.session(abi.OpResolve)
}

func (c *Client) session(op string) (*abi.Session, error) {
	ok, err := c.call(abi.ImportStore, op)
	if err != nil {
		return nil, err
	}
	var r abi.SessionReply
	if r.ReadJSON(ok, jsonobject.Tolerant) != nil || r.Session != nil && r.Session.Key == "" {
		return nil, malformed(abi.ImportStore, op)
	}
	return r.Session, nil
}

// List returns one page of sessions. An empty page with More set is a
// Fault, because a caller that requests all pages would never finish.
func (c *Client) List(q *abi.ListRequest) (*abi.ListPage, error) {
	c.buf = q.AppendJSON(c.buf[:0])
	ok, err := c.call(abi.ImportStore, abi.OpList)
	if err != nil {
		return nil, err
	}
	p := &abi.ListPage{Rows: make([]abi.ListRow, 0, min(q.Limit, startRows))}
	if p.ReadJSON(ok, jsonobject.Tolerant) != nil || p.More && len(p.Rows) == 0 {
		return nil, malformed(abi.ImportStore, abi.OpList)
	}
	for i := range p.Rows {
		if p.Rows[i].Session.Key == "" {
			return nil, malformed(abi.ImportStore, abi.OpList)
		}
	}
	return p, nil
}

// History returns one page of messages. An empty page with More set is a Fault.
func (c *Client) History(q *abi.HistoryRequest) (*abi.HistoryPage, error) {
	c.buf = q.AppendJSON(c.buf[:0])
	ok, err := c.call(abi.ImportStore, abi.OpHistory)
	if err != nil {
		return nil, err
	}
	p := &abi.HistoryPage{Messages: make([]abi.Message, 0, min(q.Limit, startRows))}
	if p.ReadJSON(ok, jsonobject.Tolerant) != nil || p.More && len(p.Messages) == 0 {
		return nil, malformed(abi.ImportStore, abi.OpHistory)
	}
	return p, nil
}

// call sends the request in c.buf and returns the object in the reply's member ok.
func (c *Client) call(namespace, op string) (gjson.Result, error) {
	reply := gjson.Parse(view.String(c.host.Call(namespace, c.buf)))
	if !reply.IsObject() {
		return gjson.Result{}, malformed(namespace, op)
	}
	ok := reply.Get("ok")
	if !ok.Exists() {
		if e := reply.Get("error"); e.Exists() {
			return gjson.Result{}, refusal(namespace, op, e)
		}
	}
	// In a truncated reply, the value of ok extends to the end of the reply; in a complete
	// one, the reply's closing brace follows the value.
	if !ok.IsObject() || ok.Index+len(ok.Raw) >= reply.Index+len(reply.Raw) {
		return gjson.Result{}, malformed(namespace, op)
	}
	return ok, nil
}

func malformed(namespace, op string) error {
	return fault(abi.Internal, "the host's reply to "+namespace+"."+op+" does not have the form of ABI version 1")
}
