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
		{"less", reading{Resident: 50 * mib, Guest: 2}, reading{Resident: 40 * mib, Guest: 1}, readings, ""},
		{"a tenth more", reading{Resident: 50 * mib}, reading{Resident: 55 * mib}, readings, ""},
		{"more than that", reading{Resident: 50 * mib}, reading{Resident: 55*mib + 1}, readings, "resident memory grew"},
		{"a page of the guest", reading{Resident: mib, Guest: 1 << 16}, reading{Resident: mib, Guest: 1 << 17}, readings, "the guest's memory grew"},
		{"ended early", reading{Resident: mib}, reading{Resident: mib}, readings - 1, "9 readings, want 10"},
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
