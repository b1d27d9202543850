//go:build tinygo || wasm

// Command plugin is the WebAssembly module that provides Parley's tools. Package tool
// implements them; package wire moves their input and output across the boundary.
package main

import (
	"github.com/parley-wasm/parley/plugin/guest/wire"
	"github.com/parley-wasm/parley/plugin/tool"
)

func main() {}

//go:wasmexport describe
func describe() int32 {
	wire.Input()
	wire.Output(tool.Describe())
	return 0
}

//go:wasmexport derive
func derive() int32 {
	wire.Output(tool.Derive(wire.Input()))
	return 0
}

//go:wasmexport call
func call() int32 {
	wire.Output(tool.Call(wire.Host{}, wire.Input()))
	return 0
}

//go:wasmexport resume
func resume() int32 {
	wire.Output(tool.Resume(wire.Host{}, wire.Input()))
	return 0
}

//go:wasmexport parley_input
func reserve(size uint32) uint32 { return wire.Reserve(size) }
