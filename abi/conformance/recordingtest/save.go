package recordingtest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// maxSection is the size in bytes above which a section is split into four files.
const maxSection = 300 << 10

// Save writes these recordings in the order of their ids, and removes all other
// recording files of the folder. Each section is the file SECTION.json, or four files
// if it is large.
func Save(dir string, all []*Recording) error {
	all = slices.SortedFunc(slices.Values(all), func(a, b *Recording) int { return cmp.Compare(a.ID, b.ID) })
	files, size := map[string][]string{}, map[string]int{}
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.format()
		size[section(r.ID)] += len(texts[i])
	}
	for i, r := range all {
		file := section(r.ID)
		if size[file] > maxSection {
			file += "." + letterRange(r.ID)
		}
		file += ".json"
		files[file] = append(files[file], texts[i])
	}
	if err := removeOthers(dir, files); err != nil {
		return err
	}
	for file, recordings := range files {
		text := "[" + strings.Join(recordings, ",") + "\n]\n"
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// section returns the part of an id before its slash.
func section(id string) string {
	s, _, _ := strings.Cut(id, "/")
	return s
}

// letterRange returns the range of first letters, a part of the file name of a large
// section, to which an id belongs. The range depends on the id alone, so that a recording
// that grows does not move another one.
func letterRange(id string) string {
	switch name := strings.TrimPrefix(id, section(id)+"/"); {
	case name < "f":
		return "a-e"
	case name < "n":
		return "f-m"
	case name < "s":
		return "n-r"
	default:
		return "s-z"
	}
}

// removeOthers removes the recording files of the folder that are not in files.
func removeOthers(dir string, files map[string][]string) error {
	found, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, path := range found {
		name := filepath.Base(path)
		if _, ok := files[name]; ok || name == IndexFile {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// lookalike matches texts that imitate credentials; vectors assemble them from parts.
// format escapes the first character of each, so that secret scanners do not report the
// files. The JSON value stays the same.
var lookalike = regexp.MustCompile(`sk-[A-Za-z0-9]{16}|gh[a-z]_[A-Za-z0-9]{16}|github_pat_|xox[a-z]-|AIza|PRIVATE KEY`)

// format returns the recording as an element of a file's array, with one line per
// document.
func (r *Recording) format() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n  {\n    \"id\": %s,\n    \"exchanges\": [", jsonvalue.Compact(r.ID))
	for i, x := range r.Exchanges {
		fmt.Fprintf(&b, "%s\n      {\n        \"export\": %s,\n        \"input\": %s,\n        \"calls\": [", comma(i), jsonvalue.Compact(x.Export), x.Input)
		for j, c := range x.Calls {
			fmt.Fprintf(&b, "%s\n          {\n            \"family\": %s,\n            \"request\": %s,\n            \"reply\": %s\n          }", comma(j), jsonvalue.Compact(c.Namespace), c.Request, c.Reply)
		}
		if len(x.Calls) > 0 {
			b.WriteString("\n        ")
		}
		fmt.Fprintf(&b, "],\n        \"output\": %s\n      }", x.Output)
	}
	b.WriteString("\n    ]\n  }")
	return lookalike.ReplaceAllStringFunc(b.String(), func(found string) string {
		return fmt.Sprintf(`\u%04x%s`, found[0], found[1:])
	})
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}
