package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/module/verify"
)

// callCmd calls a tool and prints its result.
type callCmd struct {
	Tool string `arg:"" help:"Name of the tool, such as sessions_list."`
	Args string `arg:"" optional:"" help:"Arguments: a JSON object, - for standard input, or @FILE; default: {}."`
	invokeFlags
}

func (*callCmd) Help() string {
	return `Prints the tool's result as JSON. The exit code is 1 if its status is "error" or "forbidden", and 2 for an unknown tool or arguments that are not a JSON object.

A tool that writes, such as sessions_send or sessions_spawn, starts a flow, which can continue after the answer. If no long-running process such as parley serve owns the database, this command waits until the flow has finished and no agent is running. After an interrupt, or with --detach, the next owner of the database continues the flow.

Examples:
  parley call sessions_list '{"kinds": ["cron"], "limit": 5}'
  parley call sessions_history '{"sessionKey": "main"}' --as agent:ops:main --sandboxed
  parley call sessions_send '{"sessionKey": "agent:ops:main", "message": "Are the backups done?"}' --as main
  parley call sessions_spawn '{"task": "Count the files.", "agentId": "ops", "runTimeoutSeconds": 600}' --as main
  echo '{}' | parley call agents_list - --agent ops`
}

func (c *callCmd) Run(ctx context.Context, a *app) error {
	args, err := arguments(c.Args, a.stdin)
	if err != nil {
		return err
	}
	return c.invoke(ctx, a, c.Tool, args, func(answer *host.Answer) (ok bool, err error) {
		return answer.Code == "", a.printJSON(answer.Result)
	})
}

// ask calls a tool that only reads. It returns the tool's error results as errors.
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

// callError returns the error of a failed call; an unknown tool and invalid arguments are
// wrong usage.
func callError(tool string, tools []abi.Tool, err error) error {
	switch {
	case errors.Is(err, abi.NotFound):
		return usage(fmt.Errorf("%s: unknown tool; known: %s", tool, strings.Join(verify.Names(tools), " ")))
	case errors.Is(err, abi.InvalidArgs):
		return usage(fmt.Errorf("%s: %w", tool, err))
	}
	return fmt.Errorf("%s: %w", tool, err)
}

// arguments reads a tool's arguments from text: JSON, "-" for standard input, or @FILE.
// Without a text the arguments are {}. It checks that they are one JSON object, before the
// database is opened.
func arguments(text string, stdin io.Reader) ([]byte, error) {
	raw, where, err := argumentText(text, stdin)
	if err != nil {
		return nil, usage(err)
	}
	if len(raw) > host.MaxArgs {
		return nil, usage(fmt.Errorf("%s: longer than %d bytes, the limit of a call", where, host.MaxArgs))
	}
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 && text != "":
		return nil, usage(fmt.Errorf("%s: empty: give a JSON object, such as {}", where))
	case len(raw) == 0:
		return []byte("{}"), nil
	}
	if err := jsonstrict.Check(raw); err != nil {
		return nil, usage(fmt.Errorf("%s: not strict JSON: %w", where, err))
	}
	if raw[0] != '{' {
		return nil, usage(fmt.Errorf("%s: must be a JSON object, such as {\"limit\": 5}", where))
	}
	return raw, nil
}

func argumentText(text string, stdin io.Reader) (raw []byte, where string, err error) {
	if text == "-" {
		raw, err = readLimited(stdin)
		return raw, "arguments on standard input", err
	}
	path, ok := strings.CutPrefix(text, "@")
	if !ok {
		return []byte(text), "arguments", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("cannot read the arguments: %w", err)
	}
	defer f.Close()
	raw, err = readLimited(f)
	return raw, path, err
}

// readLimited reads up to one byte more than host.MaxArgs, so that the caller can detect
// longer input.
func readLimited(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, host.MaxArgs+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the arguments: %w", err)
	}
	return raw, nil
}

// asFlags select the session that calls a tool (S0.3).
type asFlags struct {
	As        string `placeholder:"KEY" help:"Call as this session; default: the operator, with access to everything."`
	Sandboxed bool   `help:"Call as a sandboxed session."`
}

func (f *asFlags) caller(keys sessionkey.Settings) (abi.Caller, error) {
	if f.Sandboxed && f.As == "" {
		return abi.Caller{}, usage(errors.New("--sandboxed: the operator cannot be sandboxed: add --as KEY"))
	}
	return (&callerFlags{asFlags: *f}).caller(keys)
}

// callerFlags are asFlags and a flag for the agent of the session.
type callerFlags struct {
	asFlags
	Agent string `placeholder:"ID" help:"The agent that a bare --as key belongs to; alone: call as that agent's main session."`
}

// caller returns the caller that the flags select under the settings of the database's
// owner.
func (f *callerFlags) caller(keys sessionkey.Settings) (abi.Caller, error) {
	if f.As == "" && f.Agent == "" {
		if f.Sandboxed {
			return abi.Caller{}, usage(errors.New("--sandboxed: the operator cannot be sandboxed: add --as KEY or --agent ID"))
		}
		return abi.Caller{Operator: true}, nil
	}
	if f.Agent != "" {
		agent, err := sessionkey.AgentID(f.Agent)
		if err != nil {
			return abi.Caller{}, usage(fmt.Errorf("--agent %q: %w", f.Agent, err))
		}
		keys.DefaultAgent = agent // the agent of bare keys
	}
	c, err := gateway.OperatorIdentity().As(cmp.Or(strings.TrimSpace(f.As), sessionkey.Main), keys)
	if err != nil {
		return abi.Caller{}, usage(fmt.Errorf("--as: %w", err))
	}
	if f.Agent != "" && c.AgentID != keys.DefaultAgent {
		return abi.Caller{}, usage(fmt.Errorf("--as %s is not a session of --agent %s: leave one out", c.SessionKey, keys.DefaultAgent))
	}
	c.Sandboxed = f.Sandboxed
	return c, nil
}
