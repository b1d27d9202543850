package importer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// mark is the bookmark of a transcript that was read to its end. While the file
// is as it says, it is not read again.
type mark struct {
	Version  int    `json:"v"`
	File     string `json:"file"`
	Size     int64  `json:"size"`
	ModTime  int64  `json:"mtime"`  // nanoseconds
	Digest   string `json:"digest"` // of head and tail
	Messages int    `json:"messages"`
	Problems int    `json:"problems"` // reported when it was read
}

// markVersion changes when transcripts have to be read again because they are
// taken in differently.
const markVersion = 1

// markName names the bookmark of a session's transcript. A session that got
// another transcript has another name.
func markName(e *entry) string {
	return "openclaw/transcript/" + e.Session.Key + "/" + e.Session.SessionID
}

// same reports whether the bookmark is of the file as it is.
func (m mark) same(o mark) bool {
	m.Messages, m.Problems = o.Messages, o.Problems
	return m == o
}

func (m mark) String() string {
	b, err := json.Marshal(m)
	if err != nil {
		panic("importer: a mark is always JSON: " + err.Error())
	}
	return string(b)
}

// parseMark reads a bookmark; one that is not understood is as none.
func parseMark(s string) (m mark) {
	if json.Unmarshal([]byte(s), &m) != nil {
		return mark{}
	}
	return m
}

const edge = 4 << 10 // bytes of head and tail that the digest covers

// fingerprint describes an open transcript of this size.
func fingerprint(f *os.File, name string, size int64) (mark, error) {
	info, err := f.Stat()
	if err != nil {
		return mark{}, err
	}
	h := sha256.New()
	for _, at := range [...]int64{0, max(size-edge, 0)} {
		if _, err := io.Copy(h, io.NewSectionReader(f, at, min(edge, size))); err != nil {
			return mark{}, fmt.Errorf("read at byte %d: %w", at, err)
		}
	}
	return mark{
		Version: markVersion, File: name, Size: size, ModTime: info.ModTime().UnixNano(),
		Digest: hex.EncodeToString(h.Sum(nil)[:12]),
	}, nil
}

// viewFor is for how many sessions one snapshot of the store is kept: long
// enough to be cheap, short enough not to hold up the store's housekeeping.
const viewFor = 256

// bookmark returns the transcript's bookmark. It counts only while the store
// has the session with this transcript: one that was deleted there, or has
// another transcript by now, is read again.
func (im *importer) bookmark(ctx context.Context, e *entry) (mark, error) {
	if im.seen%viewFor == 0 {
		im.closeView()
		view, err := im.into.Snapshot(ctx)
		if err != nil {
			return mark{}, fmt.Errorf("importer: open the store: %w", err)
		}
		im.view = view
	}
	im.seen++
	stored, err := im.view.Get(ctx, e.Session.Key)
	if err != nil {
		return mark{}, fmt.Errorf("importer: look up session %q: %w", e.Session.Key, err)
	}
	if stored == nil || stored.SessionID != e.Session.SessionID {
		return mark{}, nil
	}
	text, err := im.into.Bookmark(ctx, markName(e))
	if err != nil {
		return mark{}, fmt.Errorf("importer: look up the bookmark of session %q: %w", e.Session.Key, err)
	}
	return parseMark(text), nil
}

func (im *importer) closeView() {
	if im.view != nil {
		if err := im.view.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
			im.log.Warn("openclaw import: close the store's snapshot", "err", err)
		}
		im.view = nil
	}
}
