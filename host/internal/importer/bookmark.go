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

// bookmark describes a transcript that was read to its end. The transcript is not read
// again until the file differs from its bookmark.
type bookmark struct {
	Version  int    `json:"v"`
	File     string `json:"file"`
	Size     int64  `json:"size"`
	ModTime  int64  `json:"mtime"`  // nanoseconds
	Digest   string `json:"digest"` // of the file's first and last bytes
	Messages int    `json:"messages"`
	Problems int    `json:"problems"` // reported when the file was read
}

// bookmarkVersion must be increased if a change of this package requires unchanged
// transcripts to be read again.
const bookmarkVersion = 1

// bookmarkName returns the name of the bookmark of a session's transcript. It depends
// on the session id: a session with a new transcript has a new name.
func bookmarkName(e *entry) string {
	return "openclaw/transcript/" + e.Session.Key + "/" + e.Session.SessionID
}

// sameFile reports whether two bookmarks describe the same state of a file.
func (b bookmark) sameFile(o bookmark) bool {
	b.Messages, b.Problems = o.Messages, o.Problems
	return b == o
}

func (b bookmark) String() string {
	text, err := json.Marshal(b)
	if err != nil {
		panic("importer: encode a bookmark: " + err.Error())
	}
	return string(text)
}

// parseBookmark decodes a bookmark. It returns the zero value if s cannot be decoded.
func parseBookmark(s string) (b bookmark) {
	if json.Unmarshal([]byte(s), &b) != nil {
		return bookmark{}
	}
	return b
}

const edge = 4 << 10 // bytes at the start and at the end that the digest covers

// fingerprint returns the bookmark, without counts, of an open transcript of this size.
func fingerprint(f *os.File, name string, size int64) (bookmark, error) {
	info, err := f.Stat()
	if err != nil {
		return bookmark{}, err
	}
	h := sha256.New()
	for _, at := range [...]int64{0, max(size-edge, 0)} {
		if _, err := io.Copy(h, io.NewSectionReader(f, at, min(edge, size))); err != nil {
			return bookmark{}, fmt.Errorf("read at byte %d: %w", at, err)
		}
	}
	return bookmark{
		Version: bookmarkVersion, File: name, Size: size, ModTime: info.ModTime().UnixNano(),
		Digest: hex.EncodeToString(h.Sum(nil)[:12]),
	}, nil
}

// lookupsPerView is the number of sessions looked up in one snapshot of the store. More
// snapshots would be slow; a longer one would delay the store's housekeeping.
const lookupsPerView = 256

// storedBookmark returns the transcript's bookmark. It returns the zero value if the
// store does not have the session with this transcript: the transcript of a session
// that was deleted or reset in the store is read again.
func (im *importer) storedBookmark(ctx context.Context, e *entry) (bookmark, error) {
	if im.lookups%lookupsPerView == 0 {
		im.closeView()
		view, err := im.into.Snapshot(ctx)
		if err != nil {
			return bookmark{}, fmt.Errorf("importer: open the store: %w", err)
		}
		im.view = view
	}
	im.lookups++
	stored, err := im.view.Get(ctx, e.Session.Key)
	if err != nil {
		return bookmark{}, fmt.Errorf("importer: look up session %q: %w", e.Session.Key, err)
	}
	if stored == nil || stored.SessionID != e.Session.SessionID {
		return bookmark{}, nil
	}
	text, err := im.into.Bookmark(ctx, bookmarkName(e))
	if err != nil {
		return bookmark{}, fmt.Errorf("importer: look up the bookmark of session %q: %w", e.Session.Key, err)
	}
	return parseBookmark(text), nil
}

func (im *importer) closeView() {
	if im.view != nil {
		if err := im.view.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
			im.log.Warn("openclaw import: close the store's snapshot", "err", err)
		}
		im.view = nil
	}
}
