//go:build !tinygo && !wasm

// Command plugin is the WebAssembly module that provides Parley's tools; its exports
// are in main.go. Built for any other target, it only prints that it must be built as
// a module. This file lets the Go tools load the package.
package main

import "os"

func main() {
	os.Stderr.WriteString("plugin: this is a WebAssembly module, not a program; build it with ./build.sh wasm\n")
	os.Exit(2)
}
