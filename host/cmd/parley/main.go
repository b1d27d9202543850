// Command parley lets agents and people list and read conversations: it imports
// them, answers tool calls with the sandboxed plugin, and serves them over HTTP
// and MCP.
//
// # Exit codes
//
//	0  it worked
//	1  it did not; "call": the tool answered with status error or forbidden
//	2  wrong usage: an unknown command, flag or tool, or arguments that are no
//	   JSON object; nothing was done
//
// Failures are one line on standard error: "parley: command: where: what is
// wrong: what to do".
//
// # Ownership
//
// One process owns a database. "serve", or the first of the other commands that
// need it, takes it for as long as it runs; every other process is a client of
// that one over a socket and shows the same. See package owner.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(mainExit()) }

func mainExit() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
}
