package main

import (
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// status writes the state of a flow, run or delivery in a colour that says how it
// is.
func (a *app) status(s string) string {
	text := terminal.Line(s)
	switch s {
	case abi.RunDone, store.DeliveryDelivered: // a flow's FlowDone is the same word
		return a.out.Good(text)
	case store.FlowParked, abi.RunFailed, abi.RunKilled, abi.RunTimeout: // DeliveryFailed is RunFailed
		return a.out.Bad(text)
	}
	return text
}

// brief is a foreign text in one line of a table.
func brief(s string) string {
	const columns = 80
	return terminal.Cut(terminal.Line(s), columns)
}

// age is how long ago a time in milliseconds was.
func age(now time.Time, ms int64) string { return terminal.Age(now.Sub(time.UnixMilli(ms))) }

// date is a time in milliseconds, or "" when it is not known.
func date(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Local().Format(time.DateTime)
}
