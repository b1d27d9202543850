package main

import (
	"fmt"
	"io"
	"time"
)

// readings is the number of readings of each host.
const readings = 10

// reading is the memory of a host after some steps.
type reading struct {
	Steps    int
	Resident int // resident bytes of the process
	Guest    int // bytes of the guest's linear memory; 0: unknown, because there are several guests
}

// memory collects the readings of a host and prints them.
type memory struct {
	out   io.Writer
	begin time.Time
	all   []reading
}

func newMemory(out io.Writer) *memory { return &memory{out: out, begin: time.Now()} }

func (m *memory) add(v reading) {
	m.all = append(m.all, v)
	fmt.Fprintf(m.out, "%9d steps %5.0f s   resident %6.1f MiB", v.Steps, time.Since(m.begin).Seconds(), float64(v.Resident)/(1<<20))
	if v.Guest != 0 {
		fmt.Fprintf(m.out, "   guest %d KiB", v.Guest>>10)
	}
	fmt.Fprintln(m.out)
}

// check fails if, between the first and the last reading, resident memory grew by more
// than a tenth or the guest's memory grew at all.
func (m *memory) check() error {
	if len(m.all) != readings {
		return fmt.Errorf("%d readings, want %d", len(m.all), readings)
	}
	first, last := m.all[0], m.all[readings-1]
	switch {
	case last.Resident > first.Resident+first.Resident/10:
		return fmt.Errorf("resident memory grew from %d to %d bytes", first.Resident, last.Resident)
	case last.Guest > first.Guest:
		return fmt.Errorf("the guest's memory grew from %d to %d bytes", first.Guest, last.Guest)
	}
	fmt.Fprintf(m.out, "flat: %+.1f %% since the first reading\n", 100*(float64(last.Resident)/float64(first.Resident)-1))
	return nil
}
