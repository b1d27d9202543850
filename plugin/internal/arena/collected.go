//go:build wasm && !tinygo

// Package arena is the plugin's memory allocator. A module built with Go's own compiler,
// which tests compare with TinyGo's, uses Go's garbage collector instead.
package arena

// Reset does nothing.
func Reset() {}
