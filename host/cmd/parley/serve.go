package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/gateway/httpapi"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/gateway/mcp"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// serveCmd runs the gateway: it owns the database and serves clients over the network.
type serveCmd struct {
	Listen string `placeholder:"HOST:PORT" help:"Address to listen on; default: gateway.listen of the configuration, else ${listen}. Port 0 = any free port."`
}

func (*serveCmd) Help() string {
	return `POST /tools/invoke accepts calls in OpenClaw's format, /mcp serves MCP over streamable HTTP, and /healthz reports that the gateway is up. POST /v1/chat/send, /v1/agent, /v1/agent/wait, /v1/agent/abort, /v1/chat/history and /v1/sessions/patch are for messages from outside and the runs that they start. GET /v1/plugins lists the versions of the plugin; POST /v1/plugins activates the module in its body. Agents are executed as agents.list configures them, and their messages are posted to delivery.channels. The gateway continues unfinished work of earlier processes. Tokens come from gateway.tokens of the configuration, and the operator's token from PARLEY_TOKEN; if there is no token at all, one is generated for the operator and printed.

When the gateway is ready, it prints its address on standard output; with --json, one line of JSON: {"listening", "url", "database", "plugin": {"name", "version", "digest"}, "token"?, "pid"}. SIGHUP reloads the configuration. SIGINT or SIGTERM stops the gateway when the current requests and agents have finished, or after 10 seconds; a second signal stops it at once. No accepted work is lost: the next owner of the database continues it. But an interrupted answer of an agent counts as an attempt of its run, which has runs.maxAttempts attempts (2 by default); after the last one the run fails as interrupted.`
}

// ready is the output of --json when the gateway accepts requests.
type ready struct {
	Listening string       `json:"listening"` // host:port
	URL       string       `json:"url"`
	Database  string       `json:"database"`
	Plugin    local.Plugin `json:"plugin"`
	Token     string       `json:"token,omitempty"` // the operator's, if it was generated
	PID       int          `json:"pid"`
}

// Run serves requests until ctx ends.
func (c *serveCmd) Run(ctx context.Context, a *app) (err error) {
	o, err := a.options()
	if err != nil {
		return err
	}
	tokens, generated, err := gateway.NewTokens(o.Config.Gateway.Tokens, a.getenv(gateway.TokenVariable))
	if err != nil {
		return err
	}
	addr, err := listenAddress(cmp.Or(c.Listen, o.Config.Gateway.Listen), generated == "")
	if err != nil {
		return err
	}
	g, err := gateway.Own(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close(ctx)) }()
	l, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen: %w: choose another address with --listen", err)
	}
	defer l.Close() // api.Serve usually closes it first
	g.SetURL("http://" + reachable(l.Addr().(*net.TCPAddr)).String())
	tokens.AcceptRuns(g)
	api, err := httpapi.New(&httpapi.Options{
		Tools: g, Chat: g, Plugins: g, Tokens: tokens, Keys: g.Keys, Logger: a.log,
		About: func() (name, version string) { return g.About().Name, g.About().Version },
	})
	if err != nil {
		return err
	}
	defer api.Close()
	if err := g.Work(); err != nil {
		return err
	}
	defer a.reconfigureOnHangup(g, o.ConfigFile)()
	unwatch, err := g.Watch(ctx)
	if err != nil {
		return err
	}
	defer unwatch()
	r := &ready{l.Addr().String(), "http://" + l.Addr().String(), o.Store.Location(), g.Status().Plugin, generated, os.Getpid()}
	if err := a.printReady(r); err != nil {
		return err
	}
	return g.Serve(ctx, func(ctx context.Context) error { return api.Serve(ctx, l) })
}

// reachable returns the address at which programs on this machine reach a listener.
func reachable(a *net.TCPAddr) *net.TCPAddr {
	if a.IP.IsUnspecified() {
		return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: a.Port}
	}
	return a
}

// listenAddress resolves the address. It refuses an address that other machines can reach
// unless a token is configured: a generated token is printed to a terminal or a log, and is
// only for local experiments.
func listenAddress(text string, configured bool) (*net.TCPAddr, error) {
	addr, err := net.ResolveTCPAddr("tcp", text)
	if err != nil {
		return nil, usage(fmt.Errorf("--listen %s: %w: give HOST:PORT, such as %s", text, err, config.DefaultListen))
	}
	if !addr.IP.IsLoopback() && !configured {
		return nil, fmt.Errorf("%s: other machines can reach this address, and no token is configured: set %s or gateway.tokens, or listen on 127.0.0.1", text, gateway.TokenVariable)
	}
	return addr, nil
}

func (a *app) printReady(r *ready) error {
	if a.JSON {
		return a.printLine(r)
	}
	token := ""
	if r.Token != "" {
		token = r.Token + "  (the operator's, valid until this process ends; " + gateway.TokenVariable + " sets another)"
	}
	a.out.Println(a.out.Bold("Parley is listening on " + r.URL))
	a.out.Fields([][2]string{
		{"tools", "POST " + r.URL + "/tools/invoke"},
		{"MCP", r.URL + "/mcp"},
		{"database", r.Database},
		{"plugin", fmt.Sprintf("%s %s (%.12s)", terminal.Line(r.Plugin.Name), terminal.Line(r.Plugin.Version), r.Plugin.Digest)},
		{"token", token},
	}...)
	return nil
}

// reconfigureOnHangup reloads the configuration at each SIGHUP, until the returned
// function is called.
func (a *app) reconfigureOnHangup(g *gateway.Gateway, file string) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			a.reconfigure(g, file)
		}
	}()
	return func() {
		signal.Stop(hangups) // no further sends
		close(hangups)
	}
}

// reconfigure applies the settings of the configuration file. If the file has an error, no
// setting changes.
func (a *app) reconfigure(g *gateway.Gateway, file string) {
	c, err := loadConfig(file)
	if err != nil {
		a.log.Error("the configuration was not reloaded; the previous one stays in force", "error", err)
		return
	}
	needRestart := g.Reconfigure(c)
	a.note("the configuration was reloaded: %s", cmp.Or(file, "no file, the defaults"))
	if needRestart {
		a.log.Warn("changes of gateway (including its tokens: the old ones stay valid), store, plugins.limits and plugins.watch take effect at the next start")
	}
}

// mcpCmd serves MCP on standard input and output to the program that started it.
type mcpCmd struct {
	callerFlags
}

func (*mcpCmd) Help() string {
	return `This command is for MCP clients that start their servers, with a configuration such as {"command": "parley", "args": ["mcp", "--as", "agent:ops:main"]}. All calls of the client are made as the session that --as and --agent select, or as the operator. Any number of these processes may use one database. The first process executes the database's work, such as the runs of agents. When it exits, another process takes over at the next call of its own client; parley serve takes over at any time. A request with a progress token receives progress notifications while it waits for an answer.`
}

// Run serves requests until standard input ends.
func (c *mcpCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(db *gateway.Database) error {
		caller, err := c.caller(db.Keys())
		if err != nil {
			return err
		}
		if err := db.Work(); err != nil {
			return err
		}
		plugin := db.Status().Plugin
		server := mcp.New(db, &mcp.Options{Name: plugin.Name, Version: plugin.Version, Logger: a.log})
		defer server.Close()
		return server.ServeStdio(ctx, caller, a.stdin, a.out)
	})
}
