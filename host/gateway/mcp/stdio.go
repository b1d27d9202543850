package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
)

// ServeStdio speaks with one client, who is caller, over lines of JSON. It
// returns when the input has ended and every call is answered, or when ctx is
// done. A line that is no message is answered with an error and passed over: it
// does not end the session, as it would with the SDK's own transport.
//
// On return by ctx a read of in may still be under way.
func (s *Server) ServeStdio(ctx context.Context, caller abi.Caller, in io.Reader, out io.Writer) error {
	err := s.sdk.Run(ctx, &stdio{in: in, out: out, who: tokenInfo("stdio", caller), stop: ctx.Done()})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}

const (
	// methodListen is answered when the session ends, so nothing waits for it.
	methodListen = "subscriptions/listen"
	// methodCancelled takes a call back: its client wants no answer any more. The SDK
	// answers all the same.
	methodCancelled = "notifications/cancelled"
)

// stdio is the transport of ServeStdio.
type stdio struct {
	in  io.Reader
	out io.Writer
	who *auth.TokenInfo
	// stop ends reading, and thereby cancels the calls under way: the contexts
	// that the SDK hands on never end by themselves.
	stop <-chan struct{}
}

var (
	_ sdk.Transport  = (*stdio)(nil)
	_ sdk.Connection = (*stdioConn)(nil)
)

// Connect starts reading.
func (t *stdio) Connect(context.Context) (sdk.Connection, error) {
	c := &stdioConn{
		stdio:    t,
		incoming: make(chan line),
		closed:   make(chan struct{}),
		waiting:  map[jsonrpc.ID]bool{},
		answered: make(chan struct{}, 1),
	}
	go c.scan()
	return c, nil
}

// line is one line of input, or the reason why there are no more.
type line struct {
	text []byte
	long bool
	err  error
}

// stdioConn is one session. It keeps account of the calls under way, because
// the end of the input would cancel them.
type stdioConn struct {
	*stdio
	incoming chan line
	closed   chan struct{}
	once     sync.Once

	writing  sync.Mutex
	mu       sync.Mutex
	waiting  map[jsonrpc.ID]bool // calls under way; true: cancelled
	answered chan struct{}       // something was taken out of waiting
}

func (c *stdioConn) scan() {
	r := bufio.NewReaderSize(c.in, 64<<10)
	for {
		l := readLine(r)
		select {
		case c.incoming <- l:
		case <-c.closed:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// readLine reads a line of at most MaxMessage bytes; of a longer one it keeps
// nothing.
func readLine(r *bufio.Reader) (l line) {
	for {
		part, err := r.ReadSlice('\n')
		if l.long = l.long || len(l.text)+len(part) > MaxMessage; l.long {
			l.text = nil
		} else {
			l.text = append(l.text, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && (len(l.text) > 0 || l.long):
			return l // a last line without its end
		default:
			l.err = err
			return l
		}
	}
}

// Read returns the next message. At the end of the input it waits for the
// answers to all calls, and then returns io.EOF.
func (c *stdioConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-c.stop:
			return nil, io.EOF
		case <-c.closed:
			return nil, io.EOF
		case l := <-c.incoming:
			if l.err != nil {
				c.drain()
				return nil, l.err
			}
			m, no := c.accept(l)
			if no != nil {
				if err := c.write(no.appendJSON(nil)); err != nil {
					return nil, err
				}
			} else if m != nil {
				return m, nil
			}
		}
	}
}

// accept makes a line a message; a blank line is none.
func (c *stdioConn) accept(l line) (jsonrpc.Message, *refusal) {
	text := bytes.TrimSpace(l.text)
	switch {
	case l.long:
		return nil, &refusal{jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes", MaxMessage), "null"}
	case len(text) == 0:
		return nil, nil
	}
	if no := check(text); no != nil {
		return nil, no
	}
	m, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return nil, &refusal{jsonrpc.CodeInvalidRequest, "not a JSON-RPC message: " + err.Error(), idIn(text)}
	}
	if r, ok := m.(*jsonrpc.Request); ok {
		r.Extra = &sdk.RequestExtra{TokenInfo: c.who}
		c.note(r)
	}
	return m, nil
}

// note keeps account of calls that begin and are cancelled.
func (c *stdioConn) note(r *jsonrpc.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.IsCall() && r.Method != methodListen:
		c.waiting[r.ID] = false
	case r.Method == methodCancelled:
		id, err := jsonrpc.MakeID(gjson.GetBytes(r.Params, "requestId").Value())
		if _, under := c.waiting[id]; err == nil && under {
			c.waiting[id] = true
		}
	}
}

// drain waits until every call is answered.
func (c *stdioConn) drain() {
	for {
		c.mu.Lock()
		n := len(c.waiting)
		c.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-c.answered:
		case <-c.closed:
			return
		case <-c.stop:
			return
		}
	}
}

// Write writes a message as one line, unless it answers a call that was cancelled.
func (c *stdioConn) Write(_ context.Context, m jsonrpc.Message) error {
	r, ok := m.(*jsonrpc.Response)
	if ok {
		defer c.done(r.ID)
		if c.cancelled(r.ID) {
			return nil
		}
	}
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return c.write(text)
}

func (c *stdioConn) cancelled(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting[id]
}

// done takes a call out of the account.
func (c *stdioConn) done(id jsonrpc.ID) {
	c.mu.Lock()
	delete(c.waiting, id)
	c.mu.Unlock()
	select {
	case c.answered <- struct{}{}:
	default:
	}
}

func (c *stdioConn) write(text []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(text, '\n'))
	return err
}

// Close lets a Read under way return.
func (c *stdioConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// SessionID returns "": there is one session only.
func (c *stdioConn) SessionID() string { return "" }
