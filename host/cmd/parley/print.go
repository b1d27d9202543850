package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
)

// status formats the status of a flow, run or delivery, with a colour for success or
// failure.
func (a *app) status(s string) string {
	text := terminal.Line(s)
	switch s {
	case abi.RunDone, store.DeliveryDelivered: // store.FlowDone has the same value as RunDone
		return a.out.Good(text)
	case store.FlowParked, abi.RunFailed, abi.RunKilled, abi.RunTimeout: // store.DeliveryFailed has the same value as RunFailed
		return a.out.Bad(text)
	}
	return text
}

// truncate formats untrusted text as a table cell of limited width.
func truncate(s string) string {
	const columns = 80
	return terminal.Truncate(terminal.Line(s), columns)
}

// age formats the time since ms, in Unix milliseconds.
func age(now time.Time, ms int64) string { return terminal.Age(now.Sub(time.UnixMilli(ms))) }

// date formats a time in Unix milliseconds, or returns "" for 0.
func date(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Local().Format(time.DateTime)
}

// show prints v as JSON if --json is set, and calls text otherwise.
func (a *app) show(v any, text func()) error {
	if a.JSON {
		return a.printValue(v)
	}
	text()
	return nil
}

// mapStrings applies text to each item of a list.
func mapStrings[T any](list []T, text func(T) string) []string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = text(v)
	}
	return all
}

// table prints a table with one line for each row.
func table[T any](a *app, header []string, rows []T, cells func(T) []string) {
	lines := make([][]string, len(rows))
	for i, r := range rows {
		lines[i] = cells(r)
	}
	a.out.Table(header, lines)
}

// printJSON prints a JSON document, indented by two spaces.
func (a *app) printJSON(doc []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, doc, "", "  "); err != nil {
		return fmt.Errorf("the result is not JSON: %w", err)
	}
	b.WriteByte('\n')
	_, err := a.out.Write(terminal.JSON(b.Bytes()))
	return err
}

// printLine prints a Go value as one line of JSON.
func (a *app) printLine(v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(terminal.JSON(doc), '\n'))
	return err
}

// printValue prints a Go value as JSON, indented by two spaces.
func (a *app) printValue(v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.printJSON(doc)
}
