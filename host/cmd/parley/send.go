package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// sendCmd is sessions_send for people.
type sendCmd struct {
	Key        string        `arg:"" help:"Session: main, a key, or a sessionId."`
	Message    string        `arg:"" help:"The text, or - for standard input."`
	Timeout    time.Duration `default:"30s" help:"How long to wait for the answer, such as 5m; 0 = not at all (default ${default})."`
	NoAnnounce bool          `help:"Nothing is posted to the session's chat channel in the end."`
	exchangeFlags
}

func (*sendCmd) Help() string {
	return `Prints the answer's text; with --json the result of sessions_send. The exit code is 1 when there is no answer: it was refused, the agent failed, or the time was over, and then the message is answered all the same.

The answer comes from the session's agent, as agents.list configures it. Without an owner of the database that stays, such as parley serve, this command stays until the exchange is over and the agents at work have ended; an interrupt, like --detach, leaves the rest to the next owner.`
}

// Validate checks what the tool would clamp in silence.
func (c *sendCmd) Validate() error {
	if c.Timeout < 0 || c.Timeout > time.Hour {
		return fmt.Errorf("--timeout %s: give a duration from 0 to 1h", c.Timeout)
	}
	return c.exchangeFlags.Validate()
}

// Run sends the message.
func (c *sendCmd) Run(ctx context.Context, a *app) error {
	if err := c.read(a.stdin); err != nil {
		return usage(err)
	}
	return c.exchange(ctx, a, abi.ToolSend, c.arguments(), a.showSent)
}

func (c *sendCmd) read(stdin io.Reader) error {
	if c.Message != "-" {
		return nil
	}
	text, err := readLimited(stdin)
	if len(text) > abi.MaxText { // perhaps not all of it was read
		return fmt.Errorf("the message on standard input is longer than %d bytes: send less, or send where the rest can be found", abi.MaxText)
	}
	c.Message = string(text)
	return err
}

func (c *sendCmd) arguments() []byte {
	o := jsonappend.Open(nil)
	o.String("sessionKey", c.Key)
	o.String("message", c.Message)
	o.Int("timeoutSeconds", int64(math.Ceil(c.Timeout.Seconds())))
	if c.NoAnnounce {
		o.String("announce", "none")
	}
	return o.Close()
}

// showSent prints the answer, or the reason why the wait ended without one.
func (a *app) showSent(answer *host.Answer) (ok bool, err error) {
	r := gjson.ParseBytes(answer.Result)
	status := r.Get("status").Str
	ok = status == "ok" || status == "accepted"
	switch {
	case a.JSON:
		err = a.printJSON(answer.Result)
	case status == "ok":
		a.out.Println(terminal.Text(r.Get("reply").Str))
	case ok:
		a.note("accepted: run %s", terminal.Line(r.Get("runId").Str))
	default:
		report(a.err, a.command, errors.New(r.Get("error").Str))
		if answer.Code == abi.NotFound {
			a.note("parley sessions lists the sessions there are; parley import openclaw DIR brings some")
		}
	}
	return ok, err
}
