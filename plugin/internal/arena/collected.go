//go:build wasm && !tinygo

// Package arena is the plugin's memory. Built with Go's own compiler, which the tests
// do to check TinyGo by it, that is the collector's.
package arena

// Reset does nothing.
func Reset() {}
