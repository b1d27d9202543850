package history

import (
	"math"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
	"github.com/parley-wasm/parley/plugin/rules/visibility"
)

// page collects the messages of one result, newest first.
type page struct {
	buf     []byte // sanitized messages, concatenated
	spans   []span // position of each message in buf
	size    int    // size of the array of messages as compact JSON
	shown   int    // size of the rendered array
	flags   transcript.Flags
	dropped bool // messages within the limit were left out, or replaced
	more    bool // older messages follow
}

// startBytes is the capacity allocated for messages before they are read.
const startBytes = 16 << 10

type span struct{ start, end int }

const (
	messageDepth = 2             // depth of a message in the result: {"messages": [message]}
	brackets     = len("[\n  ]") // rendered size of the array's brackets
)

// collect reads the session's messages, newest first, until it has limit of them or the
// next one would bring their size to maxBytes. A placeholder replaces a message that
// reaches maxBytes alone, so that every page returns at least one message.
func collect(c *guest.Client, v *visibility.View, key string, q *arguments) (*page, error) {
	p := &page{size: len("[]"), shown: brackets, spans: make([]span, 0, min(q.limit, 64)), buf: make([]byte, 0, startBytes)}
	sanitizer := transcript.New(v.Show)
	// The guest's int has 32 bits. No transcript has more messages.
	ask := abi.HistoryRequest{SessionKey: key, Skip: int(min(q.offset, math.MaxInt32)), MaxBytes: pageBytes}
	if !q.includeTools {
		ask.ExcludeRoles = toolResults
	}
	for {
		ask.Limit = q.limit - len(p.spans)
		reply, err := c.History(&ask)
		if err != nil {
			return nil, err
		}
		for i := range reply.Messages {
			if !p.add(sanitizer, &reply.Messages[i]) {
				p.dropped, p.more = true, true
				return p, nil
			}
		}
		p.more = reply.More
		if !reply.More || len(p.spans) >= q.limit {
			return p, nil
		}
		ask.Skip, ask.Before = 0, reply.Messages[len(reply.Messages)-1].Seq
	}
}

// add adds a message, or reports false when it does not fit.
func (p *page) add(s *transcript.Sanitizer, m *abi.Message) bool {
	start := len(p.buf)
	var flags transcript.Flags
	p.buf, flags = s.Append(p.buf, m)
	replaced := false
	length := render.Size(p.buf[start:], messageDepth)
	if brackets+length >= maxBytes {
		p.buf = transcript.AppendPlaceholder(p.buf[:start], m)
		length = render.Size(p.buf[start:], messageDepth)
		flags, replaced = transcript.Flags{}, true
	}
	if p.shown+length >= maxBytes {
		p.buf = p.buf[:start]
		return false
	}
	if len(p.spans) > 0 {
		p.size += len(",")
	}
	p.size += len(p.buf) - start
	p.shown += length
	p.spans = append(p.spans, span{start, len(p.buf)})
	p.flags.Add(flags)
	p.dropped = p.dropped || replaced
	return true
}

// appendMessages appends the array, oldest first.
func (p *page) appendMessages(b []byte) []byte {
	b = append(b, '[')
	for i := len(p.spans) - 1; i >= 0; i-- {
		b = append(b, p.buf[p.spans[i].start:p.spans[i].end]...)
		if i > 0 {
			b = append(b, ',')
		}
	}
	return append(b, ']')
}
