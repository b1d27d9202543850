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

// show prints a thing: as JSON, or as text does.
func (a *app) show(v any, text func()) error {
	if a.JSON {
		return a.printValue(v)
	}
	text()
	return nil
}

// texts makes each of a list a text.
func texts[T any](list []T, text func(T) string) []string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = text(v)
	}
	return all
}

// table prints a list: a line for each row.
func table[T any](a *app, header []string, rows []T, cells func(T) []string) {
	lines := make([][]string, len(rows))
	for i, r := range rows {
		lines[i] = cells(r)
	}
	a.out.Table(header, lines)
}

// printJSON prints a JSON document, indented by two.
func (a *app) printJSON(doc []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, doc, "", "  "); err != nil {
		return fmt.Errorf("the result is no JSON: %w", err)
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

// printValue prints a Go value as JSON, indented by two.
func (a *app) printValue(v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.printJSON(doc)
}
