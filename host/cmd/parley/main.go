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
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/run/command"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/plugin/wasm"
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

// versionCmd prints versions.
type versionCmd struct{}

// Run prints them.
func (*versionCmd) Run(a *app) error {
	digest := module.Digest(wasm.Parley)
	return a.show(map[string]any{
		"version": version(), "go": runtime.Version(), "abi": abi.Version, "api": local.API,
		"plugin": map[string]any{"sha256": digest, "size": len(wasm.Parley)},
	}, func() {
		a.out.Println("parley " + version())
		a.out.Fields([][2]string{
			{"go", runtime.Version()}, {"abi", terminal.Count(abi.Version)},
			{"built in", digest + " (" + terminal.Size(int64(len(wasm.Parley))) + ")"},
		}...)
	})
}

// version is the module's version, or the commit that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
