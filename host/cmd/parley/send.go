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

// sendCmd sends a message with the tool sessions_send.
type sendCmd struct {
	Key        string        `arg:"" help:"Session: main, a key, or a sessionId."`
	Message    string        `arg:"" help:"The text, or - for standard input."`
	Timeout    time.Duration `default:"30s" help:"Time to wait for the answer, such as 5m; 0 = do not wait (default ${default})."`
	NoAnnounce bool          `help:"Do not post an announcement to the session's chat channel at the end."`
	invokeFlags
}

func (*sendCmd) Help() string {
	return `Prints the answer's text; with --json the result of sessions_send. The exit code is 1 if there is no answer: the message was refused, the agent failed, or the timeout expired. After a timeout the agent still answers the message.

The session's agent answers, as agents.list configures it. If no long-running process such as parley serve owns the database, this command waits until the flow has finished and no agent is running. After an interrupt, or with --detach, the next owner of the database continues the flow.`
}

// Validate refuses timeouts that the tool would clamp silently.
func (c *sendCmd) Validate() error {
	if c.Timeout < 0 || c.Timeout > time.Hour {
		return fmt.Errorf("--timeout %s: give a duration from 0 to 1h", c.Timeout)
	}
	return c.invokeFlags.Validate()
}

func (c *sendCmd) Run(ctx context.Context, a *app) error {
	if err := c.read(a.stdin); err != nil {
		return usage(err)
	}
	return c.invoke(ctx, a, abi.ToolSend, c.arguments(), a.showSent)
}

func (c *sendCmd) read(stdin io.Reader) error {
	if c.Message != "-" {
		return nil
	}
	text, err := readLimited(stdin)
	if len(text) > abi.MaxText { // the text has been read only in part
		return fmt.Errorf("the message on standard input is longer than %d bytes: shorten it, or send a reference to the full text", abi.MaxText)
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

// showSent prints the answer, or the reason why there is no answer.
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
			a.note("parley sessions lists the known sessions; parley import openclaw DIR imports sessions")
		}
	}
	return ok, err
}
