package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// files is a state directory as text, by path. A path ending in / is an empty
// directory; a text "-> x" is a symbolic link to x.
type files map[string]string

const mainStore = "agents/main/sessions/sessions.json"

// build writes a state directory, with times that do not move.
func build(t testing.TB, f files) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f {
		place(t, dir, name, text)
	}
	return dir
}

func place(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(file), 0o777)
	switch target, link := strings.CutPrefix(text, "-> "); {
	case err != nil:
	case strings.HasSuffix(name, "/"):
		err = os.MkdirAll(file, 0o777)
	case link:
		err = os.Symlink(target, file)
	default:
		if err = os.WriteFile(file, []byte(text), 0o666); err == nil {
			at := time.UnixMilli(1770714000000)
			err = os.Chtimes(file, at, at)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func header(id string) string {
	return `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-02-10T09:00:00.000Z","cwd":"/"}` + "\n"
}

func messageLine(id, role, text string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"timestamp":"2026-02-10T09:00:01.500Z","message":{"role":%q,"content":%q}}`, id, role, text) + "\n"
}

// one is a state directory with one session whose transcript has these lines
// behind its header.
func one(lines ...string) files {
	return files{
		mainStore:                       `{"main":{"sessionId":"s1","updatedAt":1770714000000}}`,
		"agents/main/sessions/s1.jsonl": header("s1") + strings.Join(lines, ""),
	}
}
