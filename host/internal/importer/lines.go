package importer

import (
	"bufio"
	"errors"
	"io"
)

// MaxLine is the length of the longest line that is read, in bytes. Longer lines are
// skipped and reported.
const MaxLine = 256 << 20

// maxReusedBuffer is the capacity up to which the buffer of a line is reused.
const maxReusedBuffer = 1 << 20

// lineReader reads a transcript line by line. Its memory is bounded by the longest
// line.
type lineReader struct {
	r   *bufio.Reader
	max int
	buf []byte
	n   int // number of the current line
}

// line is one line without its line ending. Text is valid until next is
// called again.
type line struct {
	Text    []byte
	Number  int   // 1-based
	Bytes   int64 // in the file, including the line ending
	Ended   bool  // has a newline; only the last line may lack one
	TooLong bool  // Text is empty
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 256<<10), max: max}
}

// next returns the next line, or io.EOF after the last one.
func (l *lineReader) next() (line, error) {
	if cap(l.buf) > maxReusedBuffer {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	l.n++
	out := line{Number: l.n}
	for {
		part, err := l.r.ReadSlice('\n')
		out.Bytes += int64(len(part))
		if err == nil {
			out.Ended = true
			part = part[:len(part)-1]
		} else if !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return out, err
		}
		switch {
		case out.TooLong:
		case len(l.buf)+len(part) > l.max:
			out.TooLong = true
			l.buf = nil
		case len(l.buf) == 0 && out.Ended:
			out.Text = part // the common case: no copy
		default:
			l.buf = append(l.buf, part...)
		}
		if out.Ended || errors.Is(err, io.EOF) {
			if out.Bytes == 0 {
				return out, io.EOF
			}
			if out.Text == nil && !out.TooLong {
				out.Text = l.buf
			}
			if n := len(out.Text); out.Ended && n > 0 && out.Text[n-1] == '\r' {
				out.Text = out.Text[:n-1]
			}
			return out, nil
		}
	}
}
