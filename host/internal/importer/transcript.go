package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tidwall/gjson"
)

// Types of transcript lines.
const (
	typeSession = "session"
	typeMessage = "message"
	typeBlank   = "(blank)"
	typeNone    = "(none)" // an object without a type

	headerVersion = 3 // newest supported version of the transcript format
)

// otherLines are the documented types of lines other than messages.
var otherLines = map[string]bool{
	typeSession: true, "model_change": true, "thinking_level_change": true, "compaction": true, "branch_summary": true,
	"custom": true, "custom_message": true, "label": true, "session_info": true,
}

// reader passes one transcript's messages to the writer.
type reader struct {
	im       *importer
	file     string
	entry    *entry
	ids      map[[16]byte]int // number of message lines by id, or by content if they have no id
	messages int              // imported
}

// readTranscript reads the entry's transcript into the store, unless its bookmark
// shows that it is unchanged. It returns only errors of the store and the context.
func (im *importer) readTranscript(ctx context.Context, e *entry) error {
	f, size, err := open(im.root, e.Transcript)
	if err != nil {
		im.report.problem(e.Transcript, 0, Unreadable, reason(err))
		im.meter.add(e.Size)
		return nil
	}
	defer f.Close()
	now, err := fingerprint(f, e.Transcript, size)
	if err != nil {
		im.report.problem(e.Transcript, 0, Unreadable, reason(err))
		im.meter.add(e.Size)
		return nil
	}
	old, err := im.storedBookmark(ctx, e)
	if err != nil {
		return err
	}
	im.report.Bytes += size
	if old.sameFile(now) {
		im.report.Transcripts.Unchanged++
		im.report.Transcripts.KnownProblems += old.Problems
		im.report.Messages.Unchanged += old.Messages
		im.meter.Messages += old.Messages
		im.meter.add(e.Size)
		return nil
	}
	im.report.Transcripts.Read++
	before := im.report.total()
	r := &reader{im: im, file: e.Transcript, entry: e, ids: map[[16]byte]int{}}
	// The bookmark and the reader cover size bytes. The next import reads lines that
	// are appended later.
	whole, err := r.read(ctx, newLineReader(io.LimitReader(f, size), im.maxLine))
	if err != nil || !whole {
		return err
	}
	now.Messages, now.Problems = r.messages, im.report.total()-before
	im.writer.bookmark(bookmarkName(e), now.String())
	return nil
}

// read reads all lines. It returns false if a read failed before the end of the file.
func (r *reader) read(ctx context.Context, lines *lineReader) (bool, error) {
	for {
		l, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			if lines.n == 1 {
				r.problem(1, NoHeader, "the file is empty")
			}
			return true, nil
		case err != nil:
			r.problem(l.Number, Unreadable, reason(err))
			return false, nil
		}
		held := r.line(l)
		r.im.meter.add(l.Bytes)
		if held || r.im.writer.full() {
			if err := r.im.writer.flush(ctx); err != nil {
				return false, err
			}
		}
		if l.Number%256 == 0 || len(l.Text) > maxCopied {
			if err := ctx.Err(); err != nil {
				return false, err
			}
		}
	}
}

func (r *reader) problem(line int, kind, text string) {
	r.im.report.problem(r.file, line, kind, text)
}

// line handles one line. It returns true if the writer refers to the line's buffer.
func (r *reader) line(l line) (held bool) {
	if l.TooLong {
		r.problem(l.Number, LongLine, fmt.Sprintf("has %d bytes, more than %d; skipped", l.Bytes, r.im.maxLine))
		return false
	}
	if len(bytes.TrimSpace(l.Text)) == 0 {
		r.im.report.skipLine(typeBlank)
		return false
	}
	text, fixed, err := normalizeJSON(l.Text)
	if err != nil && !l.Ended {
		r.problem(l.Number, Unfinished, fmt.Sprintf("the last line is incomplete after %d bytes; it is imported once it is complete", l.Bytes))
		return false
	}
	if err != nil {
		r.problem(l.Number, BrokenLine, err.Error()+"; skipped")
		return false
	}
	var typ, id, body []byte
	object := members(text, func(name string, value []byte, _ int) {
		switch name {
		case "type":
			typ = value
		case "id":
			id = value
		case typeMessage:
			body = value
		}
	})
	if !object {
		r.problem(l.Number, BrokenLine, "is not a JSON object; skipped")
		return false
	}
	kind := clip(gjson.ParseBytes(typ).Str, 64)
	if l.Number == 1 && kind != typeSession {
		r.problem(1, NoHeader, "the first line is not a session line; the transcript is imported without a header")
	}
	switch {
	case kind == typeMessage:
		return r.message(l, text, id, body, fixed)
	case kind == typeSession && l.Number == 1:
		r.header(text, id)
	case kind == "":
		r.im.report.skipLine(typeNone)
		r.problem(l.Number, UnknownType, "has no type; skipped")
	default:
		r.im.report.skipLine(printable(kind))
		if !otherLines[kind] {
			r.problem(l.Number, UnknownType, quote(kind)+" is not a known type; skipped")
		}
	}
	return false
}

func (r *reader) header(text, id []byte) {
	if v := gjson.ParseBytes(id); v.Type == gjson.String && v.Str != r.entry.Session.SessionID {
		r.problem(1, HeaderMismatch, "belongs to session "+quote(v.Str)+", not "+quote(r.entry.Session.SessionID))
	}
	if v := gjson.GetBytes(text, "version"); v.Num > headerVersion {
		r.problem(1, HeaderMismatch, fmt.Sprintf("has version %s; the newest supported version is %d", clip(v.Raw, 20), headerVersion))
	}
}
