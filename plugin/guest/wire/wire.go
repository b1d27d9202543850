//go:build tinygo || wasm

// Package wire moves bytes between the plugin and its host.
//
// There are two ways. Every host has the Extism environment, into and out of which
// the plugin copies eight bytes with each call. A host that can write into the
// plugin's memory may take the direct way instead: it asks for room (Reserve),
// writes the input there, and calls the export as always. In such a call pointers
// and lengths are those of the plugin's own memory, and the host puts that memory
// back to what it was, so that nothing is left to do here.
package wire

import (
	"unsafe"

	"github.com/extism/go-pdk"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/arena"
)

// direct is the input of a direct call, and nil in any other.
var direct []byte

// Reserve makes room for the input of the next call, which is direct.
func Reserve(size uint32) uint32 {
	direct = make([]byte, size, size+1) // never nil
	return address(direct)
}

// Input begins a call and returns its input.
func Input() []byte {
	if direct != nil {
		return direct
	}
	arena.Reset()
	return pdk.Input()
}

// Output ends a call with its output.
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

// family calls a family of host functions; an unknown one has no reply.
func family(name string, request uint64) (reply uint64) {
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
	out := family(name, in.Offset())
	in.Free()
	if out == 0 {
		return nil
	}
	reply := pdk.FindMemory(out)
	b := reply.ReadBytes()
	reply.Free()
	return b
}

// callDirect gets the length of the reply, and with a second call the reply.
func callDirect(name string, request []byte) []byte {
	n := family(name, uint64(len(request))<<32|uint64(address(request)))
	if n == 0 {
		return nil
	}
	reply := make([]byte, n)
	family(name, abi.DirectReply|uint64(address(reply)))
	return reply
}
