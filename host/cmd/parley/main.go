// Command parley lets agents and people list and read conversations, and send
// messages into them: it imports them, answers tool calls with the sandboxed
// plugin, lets agents answer, and serves all of it over HTTP and MCP.
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
// that one over a socket and shows the same. See package local.
//
// The owner does the work that the database holds, such as the answers of agents:
// "serve" and "mcp" always, every other command as soon as somebody calls a tool that
// writes, and then until the agents at work have ended. What an owner leaves, the next one goes
// on with.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/parley-wasm/parley/host/internal/run/command"
)

// supervise is the command under which this program starts the programs of agents
// (see package command). It is no command for people, and must come before
// anything else that the program does.
const supervise = "runner-exec"

func main() { os.Exit(mainExit()) }

func mainExit() int {
	if len(os.Args) > 1 && os.Args[1] == supervise {
		return command.Supervise(os.Args[2:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
}
