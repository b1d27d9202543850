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

// finder says where an entry's transcript is, if it is inside the state
// directory.
type finder struct {
	root   *os.Root
	dirs   []string // the state directory's names: as given and resolved, absolute
	report *Report
	used   map[string]bool // transcripts that some entry names
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

// find sets the entry's Transcript, Size and the path that people see.
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
		e.problem(f.report, Unreadable, name+" is no regular file; not read")
	case errors.Is(err, fs.ErrNotExist):
		f.report.Transcripts.Missing++
		e.problem(f.report, MissingTranscript, name+" is not there; the history is empty")
	case f.leaves(name):
		e.problem(f.report, Outside, name+" leads out of the state directory; not read")
	default:
		e.problem(f.report, Unreadable, name+": "+reason(err))
	}
}

// leaves reports whether a name that cannot be opened is a link to elsewhere.
func (f *finder) leaves(name string) bool {
	_, err := os.Stat(filepath.Join(f.dirs[0], filepath.FromSlash(name)))
	return err == nil
}

// name returns the transcript's path below the state directory, or "" after
// having reported why there is none that may be read.
func (f *finder) name(e *entry) string {
	if e.SessionFile == "" {
		return f.byDefault(e)
	}
	file := strings.ReplaceAll(e.SessionFile, `\`, "/")
	name := file
	if !path.IsAbs(file) && !strings.HasPrefix(file, "~") && !drive(file) {
		name = path.Join(e.Dir.Path, file)
	} else if inside, ok := f.below(file); ok {
		name = inside
	} else if moved, ok := f.moved(file); ok {
		e.problem(f.report, Moved, "sessionFile names another place; read from "+moved)
		name = moved
	} else {
		e.problem(f.report, Outside, "sessionFile is outside the state directory; not read")
		return ""
	}
	if !filepath.IsLocal(name) {
		e.problem(f.report, Outside, "sessionFile is outside the state directory; not read")
		return ""
	}
	if !strings.Contains(path.Base(name), transcript) {
		e.problem(f.report, BadField, "sessionFile is no .jsonl file; not read")
		return ""
	}
	return name
}

// byDefault is <sessionId>.jsonl beside the store, or the topic's own file.
func (f *finder) byDefault(e *entry) string {
	plain := path.Join(e.Dir.Path, e.Session.SessionID+transcript)
	if topic := topicOf(e.Session.Key); topic != "" {
		own := path.Join(e.Dir.Path, e.Session.SessionID+"-topic-"+escapeTopic(topic)+transcript)
		if _, err := f.root.Lstat(own); err == nil {
			return own
		}
	}
	return plain
}

// below cuts the state directory off an absolute path.
func (f *finder) below(file string) (string, bool) {
	for _, dir := range f.dirs {
		if rel, err := filepath.Rel(dir, filepath.FromSlash(file)); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// moved finds the file of a state directory that was copied from elsewhere: the
// same agents/<id>/sessions/<file>, here.
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

// drive reports whether a path starts as Windows' absolute ones do.
func drive(file string) bool { return len(file) > 2 && file[1] == ':' && file[2] == '/' }

// topicOf returns the id behind a key's last :topic: or :thread:.
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

// unescaped are the characters that a component of a URL may have, and a query not.
var unescaped = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

// escapeTopic writes a topic id as it stands in a file name: as a component of a
// URL.
func escapeTopic(id string) string { return unescaped.Replace(url.QueryEscape(id)) }
