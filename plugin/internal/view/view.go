// Package view looks at bytes as a string and back without copying: replies of
// the host are large, and the guest's collector walks every copy. It is the only
// place in the plugin that uses unsafe.
//
// The memory must not change for as long as either side is in use.
package view

import "unsafe"

// String returns the bytes of b as a string.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Bytes returns the bytes of s. They must never be written to.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
