// Package wasm embeds the compiled plugin. It contains nothing else, because every
// importer's binary grows by the size of the module. ./build.sh wasm builds the module;
// parley.lock.json records its sources and toolchain.
package wasm

import _ "embed"

// Parley is the plugin's module. Callers must not modify it.
//
//go:embed parley.wasm
var Parley []byte
