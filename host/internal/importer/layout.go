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

	transcriptSuffix = ".jsonl"
)

// agentDir is one agent's sessions directory.
type agentDir struct {
	Agent       string           // canonical id
	Path        string           // agents/<name>/sessions
	Store       bool             // has a sessions.json
	Transcripts map[string]int64 // sizes by file name
}

func (a *agentDir) store() string { return path.Join(a.Path, storeFile) }

// openState opens the state directory. The returned root opens no file outside the
// directory, not even through a symbolic link.
func openState(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("importer: open the state directory: %w", err)
	}
	if hasStore(root, "") {
		return root, nil
	}
	defer root.Close()
	hint := "give the directory that contains agents/, usually ~/.openclaw"
	for _, below := range [...]string{".openclaw", "openclaw", ".clawdbot"} {
		if hasStore(root, below) {
			hint = "did you mean " + filepath.Join(dir, below) + "?"
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	for up, n := abs, 0; n < 3; n++ {
		if up = filepath.Dir(up); hasStoreAt(up) {
			hint = "did you mean " + up + "?"
			break
		}
	}
	return nil, fmt.Errorf("importer: %s is not an OpenClaw state directory: it has no agents/*/sessions/sessions.json; %s", dir, hint)
}

func hasStoreAt(dir string) bool {
	found, err := filepath.Glob(filepath.Join(escapeGlob(dir), agentsDir, "*", sessionsDir, storeFile))
	return err == nil && len(found) > 0
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// hasStore reports whether the folder contains a session store.
func hasStore(root *os.Root, folder string) bool {
	agents, err := fs.ReadDir(root.FS(), path.Join(folder, agentsDir))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(agents, func(a fs.DirEntry) bool {
		_, err := root.Stat(path.Join(folder, agentsDir, a.Name(), sessionsDir, storeFile))
		return err == nil
	})
}

// layout lists the agents' sessions directories, sorted by name. It counts old
// copies of their files, and reports directories that cannot be used.
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
		case strings.HasSuffix(name, transcriptSuffix):
			if info, err := root.Stat(path.Join(a.Path, name)); err == nil && info.Mode().IsRegular() {
				a.Transcripts[name] = info.Size()
			}
		}
	}
}

// oldCopy returns the suffix (deleted, bak or reset) of an old copy of a transcript
// or store, or "" for any other file.
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

// open opens a regular file for reading and returns its size. It refuses anything
// else (a directory, a pipe that would block) without opening it.
func open(root *os.Root, name string) (*os.File, int64, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("is not a regular file")
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

// reason returns an error's text without its path, which the report already has.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
