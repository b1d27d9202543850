package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// target is the target of a step in the engine with direct memory.
type target int

const (
	targetNone   target = iota
	targetNative        // at most maxVsNative times the time of native Go; for the most used tools
	targetSDK           // at least minVsSDK times as fast as the SDK; for steps with little work
)

const (
	maxVsNative = 3
	minVsSDK    = 10
)

// print prints the cost of a step in each variant, the ratios, and whether the engine with
// direct memory meets the target.
func print(out io.Writer, variants []variant, s *step, costs []cost) error {
	in, replies := len(s.exchange.Input), 0
	for _, c := range s.exchange.Calls {
		replies += len(c.Reply)
	}
	fmt.Fprintf(out, "\n%s: input %d B, %d host calls with %d B of replies, output %d B\n", s.name, in, len(s.exchange.Calls), replies, len(s.exchange.Output))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "variant\tµs per step\ttime vs native Go\tspeed vs SDK\tallocations\tbytes\ttarget\t")
	for i := range variants {
		c := costs[i]
		target := ""
		if i == directMemory {
			target = s.target.check(c.vsNative, c.vsSDK)
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.1f x\t%.1f x\t%.0f\t%.0f\t%s\t\n", variants[i].name, float64(c.time)/float64(time.Microsecond), c.vsNative, c.vsSDK, c.allocs, c.bytes, target)
	}
	return w.Flush()
}

// check returns the target and whether the measured ratios meet it.
func (t target) check(vsNative, vsSDK float64) string {
	switch t {
	case targetNative:
		return met(fmt.Sprintf("at most %d x native Go time", maxVsNative), vsNative <= maxVsNative)
	case targetSDK:
		return met(fmt.Sprintf("at least %d x SDK speed", minVsSDK), vsSDK >= minVsSDK)
	}
	return ""
}

func met(target string, yes bool) string {
	if yes {
		return target + ": met"
	}
	return target + ": not met"
}
