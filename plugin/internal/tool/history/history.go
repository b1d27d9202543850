// Package history implements the tool sessions_history (S3): it returns the sanitized
// messages of one session.
package history

import (
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/schema"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/args"
	"github.com/parley-wasm/parley/plugin/rules/reference"
	"github.com/parley-wasm/parley/plugin/rules/settings"
	"github.com/parley-wasm/parley/plugin/rules/visibility"
)

// Bounds of S3.1 and S3.4.
const (
	defaultLimit = 200
	maxLimit     = abi.MaxHistoryLimit
	maxBytes     = 80 << 10 // upper bound of the rendered array of messages
)

// pageBytes is the size of a page that is requested from the host. A full result needs a
// second page only if most of the stored content is removed.
const pageBytes = 256 << 10

// toolResults are the roles that are excluded without includeTools (S3.2).
var toolResults = []string{"toolResult", "tool"}

// Tool describes sessions_history.
func Tool() abi.Tool {
	return abi.Tool{
		Name: abi.ToolHistory,
		Description: "Read the messages of one session, oldest first, as far as you may see it. " +
			"Tool results are left out unless includeTools is true. Long texts are shortened, credentials masked and images left out; flags in the result say so. " +
			"When hasMore is true, call again with offset set to nextOffset for older messages.",
		InputSchema:  schema.HistoryInput,
		OutputSchema: schema.HistoryOutput,
		ReadOnly:     true,
		Needs:        []string{"session", "tools", "agents"},
	}
}

// arguments is a call's arguments.
type arguments struct {
	ref          string
	limit        int
	offset       int64
	offsetGiven  bool
	includeTools bool
}

func read(doc string) (arguments, error) {
	a := args.Read(doc)
	q := arguments{}
	q.ref = a.Required("sessionKey", "main, current, a session key, or a sessionId from sessions_list")
	q.limit = int(a.Clamped("limit", defaultLimit, 1, maxLimit))
	q.offset, q.offsetGiven = a.AtLeast("offset", 0)
	q.includeTools = a.Bool("includeTools")
	return q, a.Done()
}

// Call appends the tool's result. It fails with an *abi.Error or a *guest.Fault.
func Call(h guest.Host, in *guest.Input, dst []byte) ([]byte, error) {
	q, err := read(in.Args)
	if err != nil {
		return dst, err
	}
	s, bad := settings.Parse(in.Config)
	if bad != nil {
		return dst, &guest.Fault{Err: bad}
	}
	v := visibility.New(s, &in.Caller)
	c := guest.NewClient(h)
	session, err := reference.Find(c, v, "sessionKey", q.ref)
	if err != nil {
		return dst, err
	}
	p, err := collect(c, v, session.Key, &q)
	if err != nil {
		return dst, err
	}

	o := jsonappend.Open(slices.Grow(dst, p.size+512))
	o.String("sessionKey", v.Show(session.Key))
	o.Value(p.appendMessages(o.Key("messages")))
	o.Bool("truncated", p.dropped || p.flags.Truncated)
	o.Bool("droppedMessages", p.dropped)
	o.Bool("contentTruncated", p.flags.Truncated)
	o.Bool("contentRedacted", p.flags.Redacted)
	o.Int("bytes", int64(p.size))
	if q.offsetGiven {
		o.Int("offset", q.offset)
	}
	if p.more {
		o.Int("nextOffset", q.offset+int64(len(p.spans)))
	}
	o.Bool("hasMore", p.more)
	return o.Close(), nil
}
