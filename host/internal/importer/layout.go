package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi/sessionkey"
)

const (
	agentsDir   = "agents"
	sessionsDir = "sessions"
	storeFile   = "sessions.json"
	runsFile    = "subagents/runs.json"
	transcript  = ".jsonl"
)

// agentDir is one agent's sessions directory.
type agentDir struct {
	Agent       string // canonical id
	Path        string // agents/<name>/sessions
	Store       bool   // it has a sessions.json
	Transcripts map[string]int64
}

func (a *agentDir) store() string { return path.Join(a.Path, storeFile) }

// openState opens the state directory. Nothing outside it can be opened through
// the root, whatever symbolic links say.
func openState(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("importer: open the state directory: %w", err)
	}
	if has(root, "") {
		return root, nil
	}
	defer root.Close()
	hint := "give the directory that holds agents/, usually ~/.openclaw"
	for _, below := range [...]string{".openclaw", "openclaw", ".clawdbot"} {
		if has(root, below) {
			hint = "did you mean " + filepath.Join(dir, below) + "?"
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	for up, n := abs, 0; n < 3; n++ {
		if up = filepath.Dir(up); hasAt(up) {
			hint = "did you mean " + up + "?"
			break
		}
	}
	return nil, fmt.Errorf("importer: %s is no OpenClaw state directory: there is no agents/*/sessions/sessions.json in it; %s", dir, hint)
}

func hasAt(dir string) bool {
	found, err := filepath.Glob(filepath.Join(escapeGlob(dir), agentsDir, "*", sessionsDir, storeFile))
	return err == nil && len(found) > 0
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// has reports whether there is a session store below the folder.
func has(root *os.Root, folder string) bool {
	agents, err := fs.ReadDir(root.FS(), path.Join(folder, agentsDir))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(agents, func(a fs.DirEntry) bool {
		_, err := root.Stat(path.Join(folder, agentsDir, a.Name(), sessionsDir, storeFile))
		return err == nil
	})
}

// layout lists the agents' sessions directories, in order of their names, and
// reports what lies there that is no session.
func layout(root *os.Root, r *Report) ([]*agentDir, error) {
	entries, err := fs.ReadDir(root.FS(), agentsDir)
	if err != nil {
		return nil, fmt.Errorf("importer: list agents: %w", err)
	}
	var dirs []*agentDir
	for _, e := range entries {
		a := &agentDir{Path: path.Join(agentsDir, e.Name(), sessionsDir)}
		files, err := fs.ReadDir(root.FS(), a.Path)
		if errors.Is(err, fs.ErrNotExist) || err != nil && !isDir(root, path.Dir(a.Path)) {
			continue // an agent without sessions, or a stray file
		}
		if err != nil {
			r.problem(a.Path, 0, Unreadable, reason(err))
			continue
		}
		if a.Agent, err = sessionkey.AgentID(e.Name()); err != nil {
			r.problem(a.Path, 0, BadAgent, "the directory's name "+err.Error()+"; its sessions are skipped")
			continue
		}
		a.read(root, files, r)
		dirs = append(dirs, a)
	}
	return dirs, nil
}

func (a *agentDir) read(root *os.Root, files []fs.DirEntry, r *Report) {
	a.Transcripts = map[string]int64{}
	for _, f := range files {
		name := f.Name()
		switch suffix := oldCopy(name); {
		case suffix != "":
			r.Ignored[suffix]++
		case name == storeFile:
			a.Store = true
		case strings.HasSuffix(name, transcript):
			if info, err := root.Stat(path.Join(a.Path, name)); err == nil && info.Mode().IsRegular() {
				a.Transcripts[name] = info.Size()
			}
		}
	}
}

// oldCopy returns the suffix that marks a file as an old copy of a transcript or
// store: deleted, bak or reset.
func oldCopy(name string) string {
	for _, suffix := range [...]string{"deleted", "bak", "reset"} {
		if strings.Contains(name, "."+suffix+".") || strings.HasSuffix(name, "."+suffix) {
			return suffix
		}
	}
	return ""
}

func isDir(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.IsDir()
}

// open opens a regular file for reading and returns its size. Anything else
// (a directory, a pipe that would block) is refused before it is opened.
func open(root *os.Root, name string) (*os.File, int64, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("is no regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// reason is an error's text without the path that the report has already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
