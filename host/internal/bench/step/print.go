package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// aim is what the direct way aims at in a step.
type aim int

const (
	aimNone   aim = iota
	aimNative     // at most maxOfNative times the native time: tools that are used most
	aimSDK        // at least minOfSDK times as fast as the SDK: there is little to do
)

const (
	maxOfNative = 3
	minOfSDK    = 10
)

// print shows what a step costs on each way, the ratios, and whether the direct
// way is where it aims to be.
func print(out io.Writer, ways []way, s *step, costs []cost) error {
	in, replies := len(s.exchange.Input), 0
	for _, c := range s.exchange.Calls {
		replies += len(c.Reply)
	}
	fmt.Fprintf(out, "\n%s: input %d B, %d host calls with %d B of replies, output %d B\n", s.name, in, len(s.exchange.Calls), replies, len(s.exchange.Output))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "way\tµs a step\tof native\tSDK takes\tallocations\tbytes\taim\t")
	for i := range ways {
		c := costs[i]
		aim := ""
		if i == direct {
			aim = s.aim.judge(c.ofNative, c.ofSDK)
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.1f x\t%.1f x\t%.0f\t%.0f\t%s\t\n", ways[i].name, float64(c.time)/float64(time.Microsecond), c.ofNative, c.ofSDK, c.allocs, c.bytes, aim)
	}
	return w.Flush()
}

// judge says whether what was measured is what is aimed at.
func (a aim) judge(ofNative, ofSDK float64) string {
	switch a {
	case aimNative:
		return met(fmt.Sprintf("at most %d x native", maxOfNative), ofNative <= maxOfNative)
	case aimSDK:
		return met(fmt.Sprintf("SDK at least %d x", minOfSDK), ofSDK >= minOfSDK)
	}
	return ""
}

func met(aim string, yes bool) string {
	if yes {
		return aim + ": met"
	}
	return aim + ": not met"
}
