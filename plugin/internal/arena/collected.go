//go:build wasm && !tinygo

// Package arena is the plugin's memory allocator. Tests build the module with Go's own
// compiler to compare it with TinyGo's; that module uses Go's garbage collector instead.
package arena

// Reset does nothing.
func Reset() {}
