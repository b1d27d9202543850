package history

import (
	"math"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
	"github.com/parley-wasm/parley/plugin/rules/visibility"
)

// page is the messages of one result, as they are gathered: newest first.
type page struct {
	buf     []byte // sanitised messages, one behind the other
	spans   []span // of each in buf
	size    int    // of the array that they make, as compact JSON
	shown   int    // of the array as it is shown
	flags   transcript.Flags
	dropped bool // messages within the limit were left out, or replaced
	more    bool // older messages follow
}

// startBytes is what is set aside for messages before they are seen.
const startBytes = 16 << 10

type span struct{ start, end int }

// Where a message stands in the result, {"messages": [message]}, and what the
// array's own brackets take there.
const (
	messageDepth = 2
	around       = len("[\n  ]")
)

// collect reads the session's messages, newest first, until there are limit of
// them or the next one would bring them to maxBytes. A message that alone is that
// large becomes a placeholder, so that every page gets on.
func collect(c *guest.Client, v *visibility.View, key string, q *query) (*page, error) {
	p := &page{size: len("[]"), shown: around, spans: make([]span, 0, min(q.limit, 64)), buf: make([]byte, 0, startBytes)}
	sanitizer := transcript.New(v.Show)
	// No transcript is as long as an int of 32 bits, which the guest has.
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

// add takes in one message, unless it no longer fits.
func (p *page) add(s *transcript.Sanitizer, m *abi.Message) bool {
	start := len(p.buf)
	var flags transcript.Flags
	p.buf, flags = s.Append(p.buf, m)
	replaced := false
	length := render.Size(p.buf[start:], messageDepth)
	if around+length >= maxBytes {
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
