package guest

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/jsonread"
	"github.com/parley-wasm/parley/plugin/view"
)

// Client asks the host's store. Every method returns a *Fault when the host
// refuses. It is for one step.
type Client struct {
	host Host
	buf  []byte // of requests; each is done with when its call returns
}

// NewClient returns a Client of h.
func NewClient(h Host) *Client { return &Client{host: h} }

// Get returns the session with this canonical key, or nil.
func (c *Client) Get(key string) (*abi.Session, error) {
	q := abi.GetRequest{SessionKey: key}
	c.buf = q.AppendJSON(c.buf[:0])
	return c.session(abi.OpGet)
}

// Resolve returns the newest session with a sessionId within a scope, or nil.
func (c *Client) Resolve(q *abi.ResolveRequest) (*abi.Session, error) {
	c.buf = q.AppendJSON(c.buf[:0])
	return c.session(abi.OpResolve)
}

func (c *Client) session(op string) (*abi.Session, error) {
	r, err := c.call(op)
	if err != nil {
		return nil, err
	}
	var s *abi.Session
	found := false
	if r.Object() {
		for r.Member() {
			if r.Name() != "session" {
				r.Skip()
				continue
			}
			found = true
			if r.Peek() != '{' {
				r.Skip()
				continue
			}
			s = new(abi.Session)
			readSession(&r, s)
		}
	}
	if !found || !r.OK() || s != nil && s.Key == "" {
		return nil, malformed(op)
	}
	return s, nil
}

// List returns one page of sessions. A page with no rows and more to come is a
// Fault: it could never end.
func (c *Client) List(q *abi.ListRequest) (*abi.ListPage, error) {
	c.buf = q.AppendJSON(c.buf[:0])
	r, err := c.call(abi.OpList)
	if err != nil {
		return nil, err
	}
	p := &abi.ListPage{}
	found := false
	if r.Object() {
		for r.Member() {
			switch r.Name() {
			case "rows":
				found = true
				p.Rows = readRows(&r, q.Limit)
			case "more":
				p.More = r.Bool()
			default:
				r.Skip()
			}
		}
	}
	if !found || !r.OK() || p.More && len(p.Rows) == 0 {
		return nil, malformed(abi.OpList)
	}
	for i := range p.Rows {
		if p.Rows[i].Session.Key == "" {
			return nil, malformed(abi.OpList)
		}
	}
	return p, nil
}

// History returns one page of messages. A page with no messages and more to come
// is a Fault.
func (c *Client) History(q *abi.HistoryRequest) (*abi.HistoryPage, error) {
	c.buf = q.AppendJSON(c.buf[:0])
	r, err := c.call(abi.OpHistory)
	if err != nil {
		return nil, err
	}
	p := &abi.HistoryPage{}
	found := false
	if r.Object() {
		for r.Member() {
			switch r.Name() {
			case "messages":
				found = true
				p.Messages = readMessages(&r, q.Limit)
			case "more":
				p.More = r.Bool()
			default:
				r.Skip()
			}
		}
	}
	if !found || !r.OK() || p.More && len(p.Messages) == 0 {
		return nil, malformed(abi.OpHistory)
	}
	return p, nil
}

// call sends the request in c.buf and returns a Reader at the reply's ok.
func (c *Client) call(op string) (jsonread.Reader, error) {
	r := jsonread.New(view.String(c.host.Call(abi.ImportStore, c.buf)))
	if r.Peek() == '{' && r.Object() {
		for r.Member() {
			switch r.Name() {
			case "ok":
				return r, nil
			case "error":
				return r, refusal(op, &r)
			}
			r.Skip()
		}
	}
	return r, malformed(op)
}

func malformed(op string) error {
	return fault(abi.Internal, "the host's reply to store operation "+op+" does not have the form of ABI version 1")
}
