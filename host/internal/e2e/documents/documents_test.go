// Package documents tests the repository's documents: their commands, programs,
// configurations and client settings work, their excerpts are those of the examples and
// of the demo, and their links lead somewhere.
package documents

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// document is a Markdown file of the repository.
type document struct {
	path, text string
}

// documents returns all of them, without those of installed dependencies.
func documents(t *testing.T) (all []document) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".venv", "node_modules", "target"}, d.Name()):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		all = append(all, document{filepath.ToSlash(path), string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("%d documents", len(all))
	}
	return all
}

// isGuide reports whether the document's commands and excerpts are tested here. Those of
// a single example are not: the example's own test runs it.
func (d *document) isGuide() bool {
	return !strings.HasPrefix(d.path, "examples/") || d.path == "examples/README.md"
}

var block = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocks returns the document's code blocks in a language.
func (d *document) blocks(language string) (found []string) {
	for _, m := range block.FindAllStringSubmatch(d.text, -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	return found
}

// prose returns the document without its code blocks.
func (d *document) prose() string { return block.ReplaceAllString(d.text, "") }

// TestReadmeLength limits the README to 1,300 words.
func TestReadmeLength(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(text))); n > 1300 {
		t.Errorf("README.md has %d words; the limit is 1,300", n)
	}
}

// TestLinks checks that the files and headings to which the documents link exist.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	for _, d := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(d.prose(), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := d.path
			if target != "" {
				path = filepath.Join(filepath.Dir(d.path), target)
			}
			text, err := os.ReadFile(path)
			if _, statErr := os.Stat(path); statErr != nil || anchor != "" && (err != nil || !slices.Contains(anchors(string(text)), anchor)) {
				t.Errorf("%s: the link %s leads to no file or heading", d.path, m[1])
			}
		}
	}
}

// TestRationale checks that each entry of the rationale has an anchor and a link in its
// index.
func TestRationale(t *testing.T) {
	text, err := os.ReadFile("RATIONALE.md")
	if err != nil {
		t.Fatal(err)
	}
	entries := regexp.MustCompile(`(?m)^(?:<a id="([^"]+)"></a>\n)?### (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(entries) == 0 {
		t.Fatal("RATIONALE.md has no entries")
	}
	for _, e := range entries {
		if link := fmt.Sprintf("[%s](#%s)", strings.TrimSuffix(e[2], "?"), e[1]); e[1] == "" || !strings.Contains(string(text), link) {
			t.Errorf("RATIONALE.md: %q needs an anchor on the line before, and the link %s in the index", e[2], link)
		}
	}
}

// anchors returns the anchors of a document: those that GitHub generates for headings, and
// explicit ones.
func anchors(text string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	for _, m := range regexp.MustCompile(`<a id="([^"]+)">`).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}
