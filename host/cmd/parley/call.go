package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// callCmd calls one tool.
type callCmd struct {
	Tool string `arg:"" help:"Name of the tool, such as sessions_list."`
	Args string `arg:"" optional:"" help:"Arguments: a JSON object, - for standard input, or @FILE; default: {}."`
	exchangeFlags
	callerFlags
}

func (*callCmd) Help() string {
	return `Prints the tool's result as JSON. The exit code is 1 when its status is "error" or "forbidden", and 2 for an unknown tool or arguments that are no JSON object.

A tool that writes, such as sessions_send or sessions_spawn, begins an exchange that goes on after the answer. Without an owner of the database that stays, such as parley serve, this command stays until it is over and the agents at work have ended; an interrupt, like --detach, leaves the rest to the next owner.

Examples:
  parley call sessions_list '{"kinds": ["cron"], "limit": 5}'
  parley call sessions_history '{"sessionKey": "main"}' --as agent:ops:main --sandboxed
  parley call sessions_send '{"sessionKey": "agent:ops:main", "message": "Are the backups done?"}' --as main
  parley call sessions_spawn '{"task": "Count the files.", "agentId": "ops", "runTimeoutSeconds": 600}' --as main
  echo '{}' | parley call agents_list - --agent ops`
}

// Validate checks the call's id.
func (c *callCmd) Validate() error { return checkCallID(c.CallID) }

// Run calls the tool.
func (c *callCmd) Run(ctx context.Context, a *app) error {
	args, err := arguments(c.Args, a.stdin)
	if err != nil {
		return err
	}
	return a.with(ctx, func(db *gateway.Database) error {
		caller, err := c.caller(db.Keys())
		if err != nil {
			return err
		}
		call := &host.Call{Tool: c.Tool, Args: args, Caller: caller, ID: orElse(c.CallID, rand.Text())}
		if writes(db.Tools(), c.Tool) {
			show := func(answer *host.Answer) error { return a.printJSON(answer.Result) }
			return a.exchange(ctx, db, call, c.Detach, show, func(answer *host.Answer) bool { return answer.Code != "" })
		}
		answer, err := db.Call(ctx, call)
		if err != nil {
			return callError(c.Tool, db.Tools(), err)
		}
		if err := a.printJSON(answer.Result); err != nil {
			return err
		}
		if answer.Code != "" {
			return errSilent // the result says it
		}
		return nil
	})
}

// ask calls a tool; the tool's own failures become errors.
func (f *asFlags) ask(ctx context.Context, db *gateway.Database, tool string, args []byte) (gjson.Result, error) {
	caller, err := f.caller(db.Keys())
	if err != nil {
		return gjson.Result{}, err
	}
	answer, err := db.Call(ctx, &host.Call{Tool: tool, Args: args, Caller: caller})
	if err != nil {
		return gjson.Result{}, callError(tool, db.Tools(), err)
	}
	result := gjson.ParseBytes(answer.Result)
	if answer.Code != "" {
		return result, errors.New(result.Get("error").String())
	}
	return result, nil
}

// callError tells mistakes in the call from failures.
func callError(tool string, tools []abi.Tool, err error) error {
	switch {
	case errors.Is(err, abi.NotFound):
		names := ""
		for _, t := range tools {
			names += " " + t.Name
		}
		return usage(fmt.Errorf("%s: there is no such tool; there are:%s", tool, names))
	case errors.Is(err, abi.InvalidArgs):
		return usage(fmt.Errorf("%s: %w", tool, err))
	}
	return fmt.Errorf("%s: %w", tool, err)
}

// printJSON prints a JSON document, indented by two.
func (a *app) printJSON(doc []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, doc, "", "  "); err != nil {
		return fmt.Errorf("the result is no JSON: %w", err)
	}
	b.WriteByte('\n')
	_, err := a.out.Write(terminal.JSON(b.Bytes()))
	return err
}

// printLine prints a Go value as one line of JSON.
func (a *app) printLine(v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = a.out.Write(append(terminal.JSON(doc), '\n'))
	return err
}

// printValue prints a Go value as JSON, indented by two.
func (a *app) printValue(v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.printJSON(doc)
}
