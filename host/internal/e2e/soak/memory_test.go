package main

import (
	"io"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name        string
		first, last reading
		count       int
		want        string
	}{
		{"flat", reading{Resident: 50 * mib, Guest: 1}, reading{Resident: 50 * mib, Guest: 1}, readings, ""},
		{"smaller", reading{Resident: 50 * mib, Guest: 2}, reading{Resident: 40 * mib, Guest: 1}, readings, ""},
		{"a tenth larger", reading{Resident: 50 * mib}, reading{Resident: 55 * mib}, readings, ""},
		{"over a tenth larger", reading{Resident: 50 * mib}, reading{Resident: 55*mib + 1}, readings, "resident memory grew"},
		{"guest grew by a page", reading{Resident: mib, Guest: 1 << 16}, reading{Resident: mib, Guest: 1 << 17}, readings, "the guest's memory grew"},
		{"reading missing", reading{Resident: mib}, reading{Resident: mib}, readings - 1, "9 readings, want 10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory(io.Discard)
			for range c.count - 1 {
				m.add(c.first)
			}
			m.add(c.last)
			err := m.check()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
