package extismenv

import "github.com/parley-wasm/parley/abi"

// guest is the plugin's own memory, which a call with direct memory uses
// (abi/README.md, "Direct memory").
type guest struct {
	memory  func() []byte
	direct  bool
	pending []byte // the reply that the plugin has not fetched yet
}

// span returns n bytes of the memory.
func (g *guest) span(op string, p, n uint64) ([]byte, *Fault) {
	m := g.memory()
	if p > uint64(len(m)) || n > uint64(len(m))-p {
		return nil, accessf("%s: %d bytes at %d reach past the memory of %d bytes", op, n, p, len(m))
	}
	return m[p : p+n : p+n], nil
}

// WriteInput copies the input to the plugin's buffer at p.
func (e *Env) WriteInput(input []byte, p uint32) error {
	b, f := e.guest.span(abi.ExportInput, uint64(p), uint64(len(input)))
	if f != nil {
		return f
	}
	copy(b, input)
	return nil
}

// callDirect serves one host function with direct memory. If arg has the flag
// abi.DirectReply, callDirect copies the pending reply to the pointer in arg. Otherwise
// arg holds the request's length and pointer, and the result is the reply's length.
func (e *Env) callDirect(namespace string, arg uint64) uint64 {
	p, n := arg&(1<<32-1), arg>>32
	if arg&abi.DirectReply != 0 {
		return e.fetch(namespace, p)
	}
	request, f := e.guest.span(namespace, p, n)
	check(f)
	check(e.countOut(n))
	e.guest.pending = e.callHost(namespace, request)
	check(e.countIn(len(e.guest.pending)))
	return uint64(len(e.guest.pending))
}

// fetch copies the pending reply to p and returns its length.
func (e *Env) fetch(namespace string, p uint64) uint64 {
	b, f := e.guest.span(namespace, p, uint64(len(e.guest.pending)))
	check(f)
	n := copy(b, e.guest.pending)
	e.guest.pending = nil
	return uint64(n)
}
