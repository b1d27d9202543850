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

// Sizes in bytes (S2.2). The cap counts the result as it is shown, indented by
// two; frame is what the members around the rows can take.
const (
	maxResult = 512 << 10
	frame     = 2 << 10
	maxRows   = maxResult - frame

	pageBytes  = 256 << 10 // asked of the host at once
	startBytes = 32 << 10  // set aside before rows are seen

	rowDepth = 2 // where a row stands in the result: {"sessions": [row]}
)

// page is the rows of one result, as they are gathered.
type page struct {
	view      *visibility.View
	ask       *abi.ListRequest
	limit     int
	sanitizer *transcript.Sanitizer

	buf   []byte // the result, so far
	start int    // where it starts
	count int
	shown int          // length of the rows as they are shown
	last  abi.Position // of the last row
	more  bool         // rows follow behind it
}

// The result up to its rows. The count is not known before they are, so its
// digits are reserved: there are never more than three.
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

// close ends the result and returns it.
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

// collect asks the host for rows until there are limit of them, none is left, or
// the next one would bring the result over its cap.
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

// add takes in one row, unless it no longer fits.
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

// appendRow appends a row; slim replaces by placeholders those of its messages
// that are too large to be shown together.
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
