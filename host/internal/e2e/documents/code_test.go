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

// TestDocumentPrograms builds and runs the documents' Go programs. Each must print a count
// of 0.
func TestDocumentPrograms(t *testing.T) {
	programs := 0
	for _, d := range documents(t) {
		for _, source := range d.blocks("go") {
			if !strings.HasPrefix(source, "package main") {
				continue
			}
			programs++
			dir := t.TempDir()
			file, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
			if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			execute(t, ".", nil, "go", "build", "-o", binary, file)
			if out := execute(t, dir, nil, binary); !strings.HasPrefix(out, "pong: ping\n{\"count\":1,") {
				t.Errorf("the program of %s printed %s", d.path, out)
			}
		}
	}
	if programs == 0 {
		t.Error("no document has a Go program")
	}
}

// TestDocumentExcerpts checks that each code block that is not a whole program is an
// excerpt of a file in the examples. It ignores indentation.
func TestDocumentExcerpts(t *testing.T) {
	flush := func(text string) string {
		return strings.TrimSpace(regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(text, ""))
	}
	for language, folder := range map[string]string{"go": "gateway", "js": "node", "python": "python", "rust": "rust/src", "java": "java/src"} {
		var files []string
		err := filepath.WalkDir(filepath.Join("examples", folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.Name() == "node_modules":
				return fs.SkipDir
			case d.IsDir() || strings.HasSuffix(path, ".md"):
				return nil
			}
			text, err := os.ReadFile(path)
			files = append(files, flush(string(text)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for _, d := range documents(t) {
			for _, block := range d.blocks(language) {
				if strings.HasPrefix(block, "package main") || !d.isGuide() {
					continue
				}
				compared++
				if !slices.ContainsFunc(files, func(text string) bool { return strings.Contains(text, flush(block)) }) {
					t.Errorf("%s: no file of examples/%s has this:\n%s", d.path, folder, block)
				}
			}
		}
		if compared == 0 {
			t.Errorf("no document has an excerpt of examples/%s", folder)
		}
	}
}

// TestDocumentConfigurations checks that the program loads the documents' configurations.
func TestDocumentConfigurations(t *testing.T) {
	dir := t.TempDir()
	program := build(t, dir)
	for _, d := range documents(t) {
		for n, block := range d.blocks("json5") {
			config := filepath.Join(dir, fmt.Sprintf("%s-%d.json5", strings.ReplaceAll(d.path, "/", "-"), n))
			if err := os.WriteFile(config, []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
			execute(t, ".", []string{"PARLEY_TOKEN=a", "OPS_TOKEN=b"}, program, "sessions", "--config", config, "--db", filepath.Join(dir, "parley.db"))
		}
	}
}

// TestReadmeDemo compares the README's excerpt of the demo with the demo's golden output.
func TestReadmeDemo(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("host/cmd/parley/testdata/script/demo.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, golden, _ := strings.Cut(string(script), "-- golden --")
	excerpt := (&document{text: string(readme)}).blocks("console")
	if len(excerpt) != 1 {
		t.Fatalf("README.md has %d console blocks", len(excerpt))
	}
	for line := range strings.Lines(excerpt[0]) {
		pattern := regexp.QuoteMeta(strings.Join(strings.Fields(line), " "))
		pattern = strings.ReplaceAll(pattern, "…", ".*")
		if !regexp.MustCompile("(?m)^" + strings.ReplaceAll(pattern, " ", " +") + "$").MatchString(golden) {
			t.Errorf("the demo does not print %s", line)
		}
	}
}
