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

// methodListen is answered when the session ends, so nothing waits for it.
const methodListen = "subscriptions/listen"

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
		waiting:  map[jsonrpc.ID]struct{}{},
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
	waiting  map[jsonrpc.ID]struct{}
	answered chan struct{} // something was taken out of waiting
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
		if r.IsCall() && r.Method != methodListen {
			c.mu.Lock()
			c.waiting[r.ID] = struct{}{}
			c.mu.Unlock()
		}
	}
	return m, nil
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

// Write writes a message as one line.
func (c *stdioConn) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	err = c.write(text)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.waiting, r.ID)
		c.mu.Unlock()
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
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
