package list

import (
	"slices"
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
	"github.com/parley-wasm/parley/plugin/rules/visibility"
)

// Sizes in bytes (S2.2). The bound applies to the rendered result, indented by two
// spaces; frame is the maximal size of the members around the rows.
const (
	maxResult = 512 << 10
	frame     = 2 << 10
	maxRows   = maxResult - frame

	pageBytes  = 256 << 10 // size of a page that is requested from the host
	startBytes = 32 << 10  // capacity allocated before rows are read

	rowDepth = 2 // depth of a row in the result: {"sessions": [row]}
)

// page collects the rows of one result.
type page struct {
	view      *visibility.View
	ask       *abi.ListRequest
	limit     int
	sanitizer *transcript.Sanitizer

	buf   []byte // the result so far, from start
	start int
	count int
	shown int          // size of the rendered rows
	last  abi.Position // of the last row
	more  bool         // more rows follow
}

// Parts of the result before its rows. The count is written when the rows are complete:
// newPage reserves its digits, which are never more than three.
const (
	beforeCount = `{"count":`
	beforeRows  = `,"sessions":[`
	countDigits = 3
)

func newPage(v *visibility.View, q *abi.ListRequest, dst []byte) *page {
	q.MaxBytes = pageBytes
	p := &page{view: v, ask: q, limit: q.Limit, sanitizer: transcript.New(v.Show), start: len(dst)}
	p.buf = append(append(slices.Grow(dst, startBytes), beforeCount...), "000"...)
	p.buf = append(p.buf, beforeRows...)
	return p
}

// close completes the result and returns it.
func (p *page) close() []byte {
	b := append(p.buf, ']')
	if p.more {
		b = jsonappend.String(append(b, `,"nextCursor":`...), formatCursor(p.last))
	}
	b = append(b, '}')
	from := p.start + len(beforeCount)
	n := len(strconv.AppendInt(b[:from], int64(p.count), 10)) - from
	return append(b[:from+n], b[from+countDigits:]...)
}

// collect requests rows from the host until it has limit of them, no row is left, or the
// next row would exceed the bound of the result.
func (p *page) collect(c *guest.Client) error {
	for {
		p.ask.Limit = p.limit - p.count
		reply, err := c.List(p.ask)
		if err != nil {
			return err
		}
		for i := range reply.Rows {
			row := &reply.Rows[i]
			at := abi.Position{UpdatedAt: row.Session.UpdatedAt, Key: row.Session.Key}
			p.ask.After = &at
			if p.view.Keys.Hidden(row.Session.Key) {
				continue
			}
			if p.count == p.limit || !p.add(row) {
				p.more = true
				return nil
			}
			p.last = at
		}
		if p.more = reply.More; !p.more || p.count >= p.limit {
			return nil
		}
	}
}

// add adds a row, or reports false when it does not fit.
func (p *page) add(row *abi.ListRow) bool {
	start := len(p.buf)
	if p.count > 0 {
		p.buf = append(p.buf, ',')
	}
	from := len(p.buf)
	p.appendRow(row, false)
	size := render.Size(p.buf[from:], rowDepth)
	if size > maxRows {
		p.buf = p.buf[:from]
		p.appendRow(row, true)
		size = render.Size(p.buf[from:], rowDepth)
	}
	if p.shown+size > maxRows && p.count > 0 {
		p.buf = p.buf[:start]
		return false
	}
	p.shown += size
	p.count++
	return true
}

// appendRow appends a row. If slim is set, a placeholder replaces each message that
// exceeds its share of the space.
func (p *page) appendRow(row *abi.ListRow, slim bool) {
	o := jsonappend.Open(p.buf)
	appendSession(&o, p.view, &row.Session)
	if p.ask.Messages > 0 {
		b := append(o.Key("messages"), '[')
		for i := range row.Messages {
			if i > 0 {
				b = append(b, ',')
			}
			from := len(b)
			b, _ = p.sanitizer.Append(b, &row.Messages[i])
			if slim && render.Size(b[from:], rowDepth) > maxRows/(2*len(row.Messages)) {
				b = transcript.AppendPlaceholder(b[:from], &row.Messages[i])
			}
		}
		o.Value(append(b, ']'))
	}
	p.buf = o.Close()
}
