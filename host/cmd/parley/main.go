// Command parley lets agents and people list and read conversations and send messages
// into them. It imports conversations, answers tool calls with the sandboxed plugin,
// executes the agents, and serves all of this over HTTP and MCP.
//
// # Exit codes
//
//	0  success
//	1  failure; "call": the tool answered with status error or forbidden
//	2  wrong usage: an unknown command, flag or tool, or arguments that are not a
//	   JSON object; nothing was done
//
// A failure is one line on standard error: "parley: command: location: error: what to
// do".
//
// # Ownership
//
// One process owns a database. "serve", or the first other command that needs the
// database, is its owner until it exits. Every other process is a client of the owner
// over a socket and shows the same results. See package local.
//
// The owner executes the database's work, such as the runs of agents. "serve" and "mcp"
// execute work from the start. Any other command that is the owner begins when it or one
// of its clients calls a tool that writes, and then exits only after the running agents
// have finished. The next owner resumes unfinished work.
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

// supervise is the internal command that starts the program of an agent (see package
// command). It must be handled before the command line is parsed.
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

// versionCmd prints the versions of the program, the ABI and the built-in plugin.
type versionCmd struct{}

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

// version returns the Go module's version, or "devel-" and the commit of the build.
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
