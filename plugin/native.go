//go:build !tinygo && !wasm

// Command plugin is Parley's tools as one Wasm module; main.go has its exports.
// Built for anything else it only says so, which keeps the folder within reach of
// the Go tools.
package main

import "os"

func main() {
	os.Stderr.WriteString("plugin: this is a WebAssembly module, not a program; build it with ./build.sh wasm\n")
	os.Exit(2)
}
