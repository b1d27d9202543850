package main

import (
	"context"

	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/gateway/mcp"
)

// mcpCmd speaks MCP with the program that started it.
type mcpCmd struct {
	callerFlags
}

func (*mcpCmd) Help() string {
	return `For MCP clients that start their servers, as {"command": "parley", "args": ["mcp", "--as", "agent:ops:main"]}. Everything the client calls is called as the session that --as and --agent name, or as the operator. Any number may run on one database; the first one does its work, such as the answers of agents, and when it has gone another one goes on with it, at the next call of its client; parley serve does so at any time. A request with a progress token is told while it waits for an answer.`
}

// Run serves until the input ends.
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
