package importer

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/parley-wasm/parley/abi/sessionkey"
)

// finder locates the transcripts of entries inside the state directory.
type finder struct {
	root   *os.Root
	dirs   []string // absolute paths of the state directory: as given, and with links resolved
	report *Report
	used   map[string]bool // transcripts to which an entry refers
}

func newFinder(root *os.Root, dir string, r *Report) (*finder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	f := &finder{root: root, dirs: []string{abs}, report: r, used: map[string]bool{}}
	if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
		f.dirs = append(f.dirs, real)
	}
	return f, nil
}

// find sets the entry's Transcript and Size, and its session's TranscriptPath.
func (f *finder) find(e *entry) {
	e.Size = -1
	name := f.name(e)
	if name == "" {
		return
	}
	e.Session.TranscriptPath = filepath.Join(f.dirs[0], filepath.FromSlash(name))
	info, err := f.root.Stat(name)
	switch {
	case err == nil && info.Mode().IsRegular():
		e.Transcript, e.Size = name, info.Size()
		f.used[name] = true
	case err == nil:
		e.problem(f.report, Unreadable, name+" is not a regular file; not read")
	case errors.Is(err, fs.ErrNotExist):
		f.report.Transcripts.Missing++
		e.problem(f.report, MissingTranscript, name+" does not exist; the history is empty")
	case f.linksOutside(name):
		e.problem(f.report, Outside, name+" links to a file outside the state directory; not read")
	default:
		e.problem(f.report, Unreadable, name+": "+reason(err))
	}
}

// linksOutside reports whether a name that cannot be opened through the root is a
// link to a file outside the state directory.
func (f *finder) linksOutside(name string) bool {
	_, err := os.Stat(filepath.Join(f.dirs[0], filepath.FromSlash(name)))
	return err == nil
}

// name returns the transcript's path below the state directory. If the entry names
// no file that may be read, it reports the reason and returns "".
func (f *finder) name(e *entry) string {
	if e.SessionFile == "" {
		return f.defaultName(e)
	}
	file := strings.ReplaceAll(e.SessionFile, `\`, "/")
	name := file
	if !path.IsAbs(file) && !strings.HasPrefix(file, "~") && !hasDrive(file) {
		name = path.Join(e.Dir.Path, file)
	} else if inside, ok := f.below(file); ok {
		name = inside
	} else if moved, ok := f.moved(file); ok {
		e.problem(f.report, Moved, "sessionFile names another directory; read from "+moved)
		name = moved
	} else {
		e.problem(f.report, Outside, "sessionFile is outside the state directory; not read")
		return ""
	}
	if !filepath.IsLocal(name) {
		e.problem(f.report, Outside, "sessionFile is outside the state directory; not read")
		return ""
	}
	if !strings.Contains(path.Base(name), transcriptSuffix) {
		e.problem(f.report, BadField, "sessionFile is not a .jsonl file; not read")
		return ""
	}
	return name
}

// defaultName returns <sessionId>.jsonl in the store's directory, or the topic's own
// file if it exists.
func (f *finder) defaultName(e *entry) string {
	plain := path.Join(e.Dir.Path, e.Session.SessionID+transcriptSuffix)
	if topic := topicOf(e.Session.Key); topic != "" {
		own := path.Join(e.Dir.Path, e.Session.SessionID+"-topic-"+escapeTopic(topic)+transcriptSuffix)
		if _, err := f.root.Lstat(own); err == nil {
			return own
		}
	}
	return plain
}

// below makes an absolute path relative to the state directory. It returns false for
// a path outside it.
func (f *finder) below(file string) (string, bool) {
	for _, dir := range f.dirs {
		if rel, err := filepath.Rel(dir, filepath.FromSlash(file)); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// moved returns the agents/<id>/sessions/<file> at the end of an absolute path, for a
// state directory that was moved or copied. It returns false if that file does not exist.
func (f *finder) moved(file string) (string, bool) {
	i := strings.LastIndex(file, "/"+agentsDir+"/")
	if i < 0 {
		return "", false
	}
	name := path.Clean(file[i+1:])
	if parts := strings.Split(name, "/"); len(parts) != 4 || parts[0] != agentsDir || parts[2] != sessionsDir {
		return "", false
	}
	info, err := f.root.Stat(name)
	return name, err == nil && info.Mode().IsRegular()
}

// hasDrive reports whether a path is absolute on Windows, with a drive letter.
func hasDrive(file string) bool { return len(file) > 2 && file[1] == ':' && file[2] == '/' }

// topicOf returns the id after a key's last :topic: or :thread:.
func topicOf(key string) string {
	if g, ok := sessionkey.ParseGroup(key); ok {
		return g.ThreadID
	}
	for _, sep := range [...]string{":topic:", ":thread:"} {
		if i := strings.LastIndex(key, sep); i > 0 {
			return key[i+len(sep):]
		}
	}
	return ""
}

// asComponent converts url.QueryEscape's output to that of JavaScript's
// encodeURIComponent.
var asComponent = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

// escapeTopic returns a topic id as OpenClaw writes it in a file name: escaped as a
// URL component.
func escapeTopic(id string) string { return asComponent.Replace(url.QueryEscape(id)) }
