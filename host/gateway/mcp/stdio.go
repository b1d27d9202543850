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

// ServeStdio serves one client, identified as caller, over lines of JSON. It returns when
// the input has ended and every call is answered, or when ctx is done. It answers a line
// that is not a valid message with an error and continues; the SDK's own transport would
// end the session.
//
// After ctx has ended, a read of in may still be blocked when ServeStdio returns.
func (s *Server) ServeStdio(ctx context.Context, caller abi.Caller, in io.Reader, out io.Writer) error {
	err := s.sdk.Run(ctx, &stdio{in: in, out: out, token: tokenInfo("stdio", caller), stop: ctx.Done()})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}

const (
	// methodListen names a call that the SDK answers only when the session ends, so drain
	// must not wait for it.
	methodListen = "subscriptions/listen"
	// methodCancelled cancels a call. The client then expects no answer, but the SDK sends
	// one, which Write drops.
	methodCancelled = "notifications/cancelled"
)

// stdio is the transport of ServeStdio.
type stdio struct {
	in    io.Reader
	out   io.Writer
	token *auth.TokenInfo
	// stop ends Read when it is closed, and the SDK then cancels the active calls. It does
	// not pass the end of ServeStdio's context on to them.
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

// line is one line of input, or the error that ended the input.
type line struct {
	text []byte
	long bool
	err  error
}

// stdioConn is one session. It tracks the active calls, because the SDK would cancel them
// at the end of the input.
type stdioConn struct {
	*stdio
	incoming chan line
	closed   chan struct{}
	once     sync.Once

	writing  sync.Mutex
	mu       sync.Mutex
	waiting  map[jsonrpc.ID]bool // active calls; true: cancelled
	answered chan struct{}       // receives after a removal from waiting
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

// readLine reads a line of at most MaxMessage bytes. It discards a longer one.
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
			return l // a last line without a line feed
		default:
			l.err = err
			return l
		}
	}
}

// Read returns the next message. At the end of the input it waits for the answers to all
// calls, and then returns io.EOF.
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
			m, refused := c.accept(l)
			if refused != nil {
				if err := c.write(refused.appendJSON(nil)); err != nil {
					return nil, err
				}
			} else if m != nil {
				return m, nil
			}
		}
	}
}

// accept parses a line. It returns nil for a blank line.
func (c *stdioConn) accept(l line) (jsonrpc.Message, *refusal) {
	text := bytes.TrimSpace(l.text)
	switch {
	case l.long:
		return nil, &refusal{jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes", MaxMessage), "null"}
	case len(text) == 0:
		return nil, nil
	}
	if refused := check(text); refused != nil {
		return nil, refused
	}
	m, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return nil, &refusal{jsonrpc.CodeInvalidRequest, "not a JSON-RPC message: " + err.Error(), idIn(text)}
	}
	if r, ok := m.(*jsonrpc.Request); ok {
		r.Extra = &sdk.RequestExtra{TokenInfo: c.token}
		c.track(r)
	}
	return m, nil
}

// track records new and cancelled calls.
func (c *stdioConn) track(r *jsonrpc.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.IsCall() && r.Method != methodListen:
		c.waiting[r.ID] = false
	case r.Method == methodCancelled:
		id, err := jsonrpc.MakeID(gjson.GetBytes(r.Params, "requestId").Value())
		if _, active := c.waiting[id]; err == nil && active {
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

// done removes a call from the active ones.
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

// Close makes a blocked Read return.
func (c *stdioConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// SessionID returns "": there is only one session.
func (c *stdioConn) SessionID() string { return "" }
