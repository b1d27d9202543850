package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// readings are taken of each host.
const readings = 10

// reading is the memory of a host after some steps.
type reading struct {
	Steps    int
	Resident int // bytes of the process
	Guest    int // bytes of the guest's own memory; 0: there is more than one guest
}

// record prints readings as they come.
type record struct {
	out   io.Writer
	begin time.Time
	all   []reading
}

func newRecord(out io.Writer) *record { return &record{out: out, begin: time.Now()} }

func (r *record) add(v reading) {
	r.all = append(r.all, v)
	fmt.Fprintf(r.out, "%9d steps %5.0f s   resident %6.1f MiB", v.Steps, time.Since(r.begin).Seconds(), float64(v.Resident)/(1<<20))
	if v.Guest != 0 {
		fmt.Fprintf(r.out, "   guest %d KiB", v.Guest>>10)
	}
	fmt.Fprintln(r.out)
}

// judge fails if memory has grown: the process's by more than a tenth, or the
// guest's at all.
func (r *record) judge() error {
	if len(r.all) != readings {
		return fmt.Errorf("%d readings, want %d", len(r.all), readings)
	}
	first, last := r.all[0], r.all[readings-1]
	switch {
	case last.Resident > first.Resident+first.Resident/10:
		return fmt.Errorf("resident memory grew from %d to %d bytes", first.Resident, last.Resident)
	case last.Guest > first.Guest:
		return fmt.Errorf("the guest's memory grew from %d to %d bytes", first.Guest, last.Guest)
	}
	fmt.Fprintf(r.out, "flat: %+.1f %% since the first reading\n", 100*(float64(last.Resident)/float64(first.Resident)-1))
	return nil
}

// resident is this process's resident memory, as the kernel counts it.
func resident() (int, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, after, ok := bytes.Cut(text, []byte("VmRSS:"))
	fields := bytes.Fields(after)
	if !ok || len(fields) == 0 {
		return 0, errors.New("/proc has no VmRSS")
	}
	kib, err := strconv.Atoi(string(fields[0]))
	return kib << 10, err
}
