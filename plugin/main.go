//go:build tinygo || wasm

// Command plugin is Parley's tools as one Wasm module: three exports over the
// Extism environment, and the store that the host provides. What they do is in
// package tool.
package main

import (
	"github.com/extism/go-pdk"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/tool"
)

func main() {}

//go:wasmexport describe
func describe() int32 {
	pdk.Output(tool.Describe())
	return 0
}

//go:wasmexport call
func call() int32 {
	pdk.Output(tool.Call(host{}, pdk.Input()))
	return 0
}

//go:wasmexport resume
func resume() int32 {
	pdk.Output(tool.Resume(host{}, pdk.Input()))
	return 0
}

//go:wasmimport extism:host/user store
func hostStore(request uint64) (reply uint64)

//go:wasmimport extism:host/user agent
func hostAgent(request uint64) (reply uint64)

//go:wasmimport extism:host/user deliver
func hostDeliver(request uint64) (reply uint64)

// host calls the host functions through memory of the Extism environment.
type host struct{}

var _ guest.Host = host{}

// Call implements guest.Host. An unknown family has no reply.
func (host) Call(family string, request []byte) []byte {
	in := pdk.AllocateBytes(request)
	var out uint64
	switch family {
	case abi.ImportStore:
		out = hostStore(in.Offset())
	case abi.ImportAgent:
		out = hostAgent(in.Offset())
	case abi.ImportDeliver:
		out = hostDeliver(in.Offset())
	}
	in.Free()
	if out == 0 {
		return nil
	}
	reply := pdk.FindMemory(out)
	b := reply.ReadBytes()
	reply.Free()
	return b
}
