package main

import (
	"context"
	"errors"
	"strings"

	"github.com/parley-wasm/parley/host/internal/terminal"
)

const (
	exitFailure = 1
	exitUsage   = 2
)

// failure is an error with the exit code it ends the program with.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// errSilent ends the program with exitFailure: what is wrong has been printed.
var errSilent = errors.New("already said")

// usage marks an error as a mistake in how the command was called.
func usage(err error) error { return &failure{exitUsage, err} }

// report prints err as one line and returns the exit code.
func report(out *terminal.Output, command string, err error) int {
	code := exitFailure
	var f *failure
	if errors.As(err, &f) {
		code = f.code
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errSilent):
		return code
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	what := []string{"parley"}
	if command != "" {
		what = append(what, command)
	}
	// An error may quote what others wrote, and several joined ones have a line each.
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for i, line := range lines {
		lines[i] = terminal.Line(line)
	}
	out.Println(strings.Join(what, ": ") + ": " + strings.Join(lines, "\n  "))
	return code
}
