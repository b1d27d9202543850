package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/internal/terminal"
)

// message prints one transcript message: a heading with the time in zone, then
// its blocks, indented.
func (a *app) message(m gjson.Result, zone *time.Location) {
	role := terminal.Line(m.Get("role").String())
	if role == "" {
		role = "message"
	}
	head := a.out.Accent(role)
	if role == "toolResult" || role == "tool" {
		head += " " + terminal.Line(m.Get("toolName").String())
		if m.Get("isError").Bool() {
			head += a.out.Bad(" failed")
		}
	}
	if at := m.Get("timestamp"); at.Type == gjson.Number {
		head += a.out.Faint("  " + time.UnixMilli(at.Int()).In(zone).Format(time.DateTime))
	}
	if from := m.Get("provenance.sourceSessionKey"); from.Type == gjson.String {
		head += a.out.Faint("  from " + terminal.Line(from.Str))
	}
	a.out.Println("\n" + head)

	content := m.Get("content")
	switch {
	case content.Type == gjson.String:
		a.paragraph(content.Str)
	case content.IsArray():
		for _, block := range content.Array() {
			a.block(block)
		}
	case content.Exists():
		a.paragraph(content.Raw)
	default:
		a.out.Println("  " + a.out.Faint("(no content)"))
	}
	if e := m.Get("errorMessage"); e.Type == gjson.String {
		a.paragraph("error: " + e.Str)
	}
}

// block prints one block of a message's content.
func (a *app) block(b gjson.Result) {
	switch b.Get("type").Str {
	case "text":
		a.paragraph(b.Get("text").String())
	case "thinking":
		for line := range strings.SplitSeq(terminal.Text(strings.TrimSpace(b.Get("thinking").String())), "\n") {
			a.out.Println("  " + a.out.Faint("· "+line))
		}
	case "toolCall":
		line := "→ " + terminal.Line(b.Get("name").String()) + " " + terminal.Line(b.Get("arguments").Raw)
		a.out.Println("  " + a.out.Accent(a.out.Fit(line, 2)))
	case "image":
		line := "[image " + terminal.Line(b.Get("mimeType").String())
		if n := b.Get("bytes"); n.Exists() {
			line += ", " + terminal.Size(n.Int())
		}
		a.out.Println("  " + a.out.Faint(line+"]"))
	default:
		a.out.Println("  " + a.out.Fit(fmt.Sprintf("[%s] %s", terminal.Line(b.Get("type").String()), terminal.Line(b.Raw)), 2))
	}
}

func (a *app) paragraph(text string) {
	for line := range strings.SplitSeq(terminal.Text(strings.TrimRight(text, "\n ")), "\n") {
		a.out.Println(strings.TrimRight("  "+line, " "))
	}
}
