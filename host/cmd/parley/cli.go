package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// cli is the command line. Each command is defined in the file with its name.
type cli struct {
	globals

	Import     importCmd     `cmd:"" help:"Read conversations from another program's files."`
	Call       callCmd       `cmd:"" help:"Call a tool and print its result as JSON."`
	Send       sendCmd       `cmd:"" help:"Send a message to a session and print the answer."`
	Sessions   sessionsCmd   `cmd:"" help:"List sessions, newest first."`
	History    historyCmd    `cmd:"" help:"Show a session's conversation."`
	Tree       treeCmd       `cmd:"" help:"Show which sessions have spawned others, and the status of each child."`
	Flows      flowsCmd      `cmd:"" help:"Show flows, the calls of tools that write; retry or drop them."`
	Runs       runsCmd       `cmd:"" help:"Show runs, the answers of agents; abort one."`
	Deliveries deliveriesCmd `cmd:"" help:"Show deliveries to chat channels; resend a failed one."`
	Serve      serveCmd      `cmd:"" help:"Serve the tools over HTTP and MCP."`
	MCP        mcpCmd        `cmd:"" name:"mcp" help:"Serve the tools over MCP on standard input and output."`
	Plugin     pluginCmd     `cmd:"" help:"Inspect, verify and list plugin modules; swap the active version."`
	Demo       demoCmd       `cmd:"" help:"Run a script of commands on sample data, in temporary databases."`
	Version    versionCmd    `cmd:"" help:"Print the versions of program, ABI and plugin."`
}

// globals are the flags of every command.
type globals struct {
	DB           string        `name:"db" env:"PARLEY_DB" placeholder:"FILE" help:"Database; default: store.path of the configuration, else parley/parley.db in the XDG state directory."`
	Config       string        `env:"PARLEY_CONFIG" placeholder:"FILE" help:"Configuration (JSON5); default: parley/parley.json5 in the XDG configuration directory, if it exists."`
	Plugin       string        `name:"plugin" placeholder:"FILE" help:"Plugin module to activate; default: the version that was active last, initially the built-in one."`
	JSON         bool          `name:"json" help:"Print JSON instead of tables and text."`
	Quiet        bool          `short:"q" help:"Print results and errors only."`
	LogLevel     string        `enum:"debug,info,warn,error" default:"warn" help:"Minimum level of log lines on standard error: ${enum}."`
	OwnerTimeout time.Duration `env:"PARLEY_OWNER_TIMEOUT" default:"5s" help:"Time limit for an answer of the process that owns the database."`
}

// app is the environment of a command: its flags, streams and log.
type app struct {
	globals
	command string // as error texts name it, such as "plugin inspect"
	stdin   io.Reader
	out     *terminal.Output // results
	err     *terminal.Output // everything else
	getenv  func(string) string
	log     *slog.Logger
	level   *slog.LevelVar
}

// run runs the program with these arguments and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	a := &app{stdin: stdin, getenv: getenv, out: terminal.New(stdout, getenv), err: terminal.New(stderr, getenv)}
	return a.execute(ctx, args)
}

// execute parses args, runs the command and returns the exit code. It must be called only once.
func (a *app) execute(ctx context.Context, args []string) int {
	a.level = new(slog.LevelVar)
	a.log = slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: a.level}))
	var c cli
	helped := -1
	parser, err := kong.New(&c,
		kong.Name("parley"),
		kong.Description("Parley: agents work with each other's conversations, through a sandboxed plugin."),
		kong.Writers(a.out, a.err),
		kong.Exit(func(code int) { helped = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Vars{"listen": config.DefaultListen},
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(a),
	)
	if err != nil {
		return report(a.err, "", err)
	}
	if err := checkText(args); err != nil {
		return report(a.err, "", usage(err))
	}
	parsed, err := parser.Parse(args)
	if helped >= 0 {
		return helped
	}
	if err != nil {
		command := ""
		if p, ok := errors.AsType[*kong.ParseError](err); ok && p.Context != nil {
			command = commandPath(p.Context)
		}
		text := strings.TrimPrefix(err.Error(), command+": ") // kong adds this prefix to errors of Validate methods
		return report(a.err, command, usage(fmt.Errorf("%s: see parley %s", text, strings.TrimLeft(command+" --help", " "))))
	}
	a.globals, a.command = c.globals, commandPath(parsed)
	if err := a.check(); err != nil {
		return report(a.err, a.command, usage(err))
	}
	return report(a.err, a.command, parsed.Run())
}

// checkText refuses arguments that are not UTF-8: the parser would replace invalid bytes
// with U+FFFD, and the argument would name another file or session.
func checkText(args []string) error {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return fmt.Errorf("argument %d, %.80q, is not valid UTF-8: write it in UTF-8", i+1, arg)
		}
	}
	return nil
}

func (a *app) check() error {
	if a.OwnerTimeout <= 0 {
		return fmt.Errorf("--owner-timeout %s: give a duration above 0, such as 5s", a.OwnerTimeout)
	}
	return a.level.UnmarshalText([]byte(a.LogLevel))
}

// note prints a message on standard error, unless --quiet is set.
func (a *app) note(format string, args ...any) {
	if !a.Quiet {
		a.err.Println(fmt.Sprintf("parley: "+format, args...))
	}
}

// commandPath returns the names of the selected commands, without arguments and without
// default commands.
func commandPath(c *kong.Context) string {
	var names []string
	for _, p := range c.Path {
		if p.Command != nil && p.Command != p.Command.Parent.DefaultCmd {
			names = append(names, p.Command.Name)
		}
	}
	return strings.Join(names, " ")
}

const (
	exitFailure = 1
	exitUsage   = 2
)

// failure is an error with the exit code of the program.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// errSilent ends the program with exitFailure; the error has been printed already.
var errSilent = errors.New("already reported")

// usage marks an error as wrong usage of the command.
func usage(err error) error { return &failure{exitUsage, err} }

// report prints err as one line and returns the exit code.
func report(out *terminal.Output, command string, err error) int {
	code := exitFailure
	if f, ok := errors.AsType[*failure](err); ok {
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
	// The text may quote untrusted data. Each joined error has its own line.
	lines := mapStrings(strings.Split(strings.TrimSpace(err.Error()), "\n"), terminal.Line)
	out.Println(strings.TrimSuffix("parley: "+command, ": ") + ": " + strings.Join(lines, "\n  "))
	return code
}
