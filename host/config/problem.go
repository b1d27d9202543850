package config

import (
	"fmt"
	"strings"
)

// Problem is one error in a file.
type Problem struct {
	File         string
	Line, Column int    // from 1; 0 if unknown
	Path         string // such as agents.list[1].id; empty for the whole file
	Message      string // the error, and the expected value
}

func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Errors are all problems of a file, ordered by position.
type Errors []*Problem

// Error returns one line for each problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes the problems available to errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, p := range e {
		list[i] = p
	}
	return list
}

var (
	_ error = (*Problem)(nil)
	_ error = Errors(nil)
)
