//go:build tinygo || wasm

// Package wire moves bytes between the plugin and its host.
//
// There are two transports. Every host provides the Extism kernel, and the plugin
// copies to and from kernel memory with kernel calls, eight bytes per call. A host
// that can write into the plugin's memory may use direct memory instead: it requests
// a buffer (Reserve), writes the input there, and calls the export as usual. In a
// direct call, pointers and lengths refer to the plugin's own memory, and the host
// resets that memory after the call, so this package need not reset the arena.
package wire

import (
	"unsafe"

	"github.com/extism/go-pdk"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/arena"
)

// direct is the input of a direct call, and nil in a call over the Extism kernel.
var direct []byte

// Reserve allocates the buffer for the input of the next call, makes that call a direct
// call, and returns the buffer's address.
func Reserve(size uint32) uint32 {
	direct = make([]byte, size, size+1) // not nil even if size is 0
	return address(direct)
}

// Input starts a call and returns its input.
func Input() []byte {
	if direct != nil {
		return direct
	}
	arena.Reset()
	return pdk.Input()
}

// Output sets the output of the call.
func Output(b []byte) {
	if direct == nil {
		pdk.Output(b)
		return
	}
	setOutput(uint64(address(b)), uint64(len(b)))
}

func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

//go:wasmimport extism:host/env output_set
func setOutput(offset, length uint64)

//go:wasmimport extism:host/user store
func store(request uint64) (reply uint64)

//go:wasmimport extism:host/user agent
func agent(request uint64) (reply uint64)

//go:wasmimport extism:host/user deliver
func deliver(request uint64) (reply uint64)

// callNamespace calls the host function of a namespace. It returns 0, which means
// no reply, for an unknown namespace.
func callNamespace(name string, request uint64) (reply uint64) {
	switch name {
	case abi.ImportStore:
		return store(request)
	case abi.ImportAgent:
		return agent(request)
	case abi.ImportDeliver:
		return deliver(request)
	}
	return 0
}

// Host calls the host functions.
type Host struct{}

var _ guest.Host = Host{}

// Call implements guest.Host.
func (Host) Call(name string, request []byte) []byte {
	if direct != nil {
		return callDirect(name, request)
	}
	in := pdk.AllocateBytes(request)
	out := callNamespace(name, in.Offset())
	in.Free()
	if out == 0 {
		return nil
	}
	reply := pdk.FindMemory(out)
	b := reply.ReadBytes()
	reply.Free()
	return b
}

// callDirect fetches the length of the reply with a first call and the reply itself with
// a second one.
func callDirect(name string, request []byte) []byte {
	n := callNamespace(name, uint64(len(request))<<32|uint64(address(request)))
	if n == 0 {
		return nil
	}
	reply := make([]byte, n)
	callNamespace(name, abi.DirectReply|uint64(address(reply)))
	return reply
}
