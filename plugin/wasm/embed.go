// Package wasm holds the compiled plugin, and nothing else: importing it costs
// the bytes of the module. ./build.sh wasm makes it; parley.lock.json says from
// what.
package wasm

import _ "embed"

// Parley is the plugin's module. It must not be changed.
//
//go:embed parley.wasm
var Parley []byte
