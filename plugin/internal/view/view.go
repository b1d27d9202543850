// Package view converts between bytes and strings without copying, because replies of
// the host are large.
//
// The memory must not change while either the bytes or the string is in use.
package view

import "unsafe"

// String returns b as a string that shares its memory.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Bytes returns the bytes of s. The caller must not write to them.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
