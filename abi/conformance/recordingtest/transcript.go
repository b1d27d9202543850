package recordingtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/jsonvalue"
	"github.com/parley-wasm/parley/abi/conformance/vector"
)

// Transcript is the conversation between host and plugin in one vector. A host
// in any language replays it with the same module: it gives the input to the
// export, checks that each host call asks what was recorded, gives the recorded
// reply, and compares the output; all as JSON, numbers by value.
type Transcript struct {
	ID        string     `json:"id"` // the vector's
	Exchanges []Exchange `json:"exchanges"`
}

// Exchange is one call of an export. Its JSON documents are compact.
type Exchange struct {
	Export string          `json:"export"`
	Input  json.RawMessage `json:"input"`
	Calls  []HostCall      `json:"calls"`
	Output json.RawMessage `json:"output"`
}

// HostCall is one host-function call within an exchange, in order.
type HostCall struct {
	Family  string          `json:"family"` // store, agent or deliver
	Request json.RawMessage `json:"request"`
	Reply   json.RawMessage `json:"reply"`
}

// Size is the length of the transcript's JSON documents together.
func (t *Transcript) Size() (n int) {
	for _, x := range t.Exchanges {
		n += len(x.Input) + len(x.Output)
		for _, c := range x.Calls {
			n += len(c.Request) + len(c.Reply)
		}
	}
	return n
}

// TranscriptFile is where a vector's transcript lies below the folder.
func TranscriptFile(id string) string { return filepath.FromSlash(id) + ".json" }

// Derives reports whether a transcript is one of those below derive/, which are
// written by hand: no vector is about that export.
func Derives(id string) bool { return strings.HasPrefix(id, abi.ExportDerive+"/") }

// LoadTranscripts reads every transcript below the folder, by file name.
func LoadTranscripts(dir string) ([]*Transcript, error) {
	var all []*Transcript
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" || d.Name() == TranscriptIndex {
			return err
		}
		t, err := LoadTranscript(path)
		all = append(all, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("transcripts: %w", err)
	}
	return all, nil
}

// LoadTranscript reads one transcript.
func LoadTranscript(path string) (*Transcript, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	t := &Transcript{}
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// lookalike finds what the vectors put together to look like a credential. In the
// file its first character is escaped, the same JSON, so that no scanner takes it
// for a real one.
var lookalike = regexp.MustCompile(`sk-[A-Za-z0-9]{16}|gh[a-z]_[A-Za-z0-9]{16}|github_pat_|xox[a-z]-|AIza|PRIVATE KEY`)

// Save writes the transcript below the folder, a line for each document.
func (t *Transcript) Save(dir string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"id\": %s,\n  \"exchanges\": [", jsonvalue.Compact(t.ID))
	for i, x := range t.Exchanges {
		fmt.Fprintf(&b, "%s\n    {\n      \"export\": %s,\n      \"input\": %s,\n      \"calls\": [", comma(i), jsonvalue.Compact(x.Export), x.Input)
		for j, c := range x.Calls {
			fmt.Fprintf(&b, "%s\n        {\n          \"family\": %s,\n          \"request\": %s,\n          \"reply\": %s\n        }", comma(j), jsonvalue.Compact(c.Family), c.Request, c.Reply)
		}
		if len(x.Calls) > 0 {
			b.WriteString("\n      ")
		}
		fmt.Fprintf(&b, "],\n      \"output\": %s\n    }", x.Output)
	}
	b.WriteString("\n  ]\n}\n")
	path := filepath.Join(dir, TranscriptFile(t.ID))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	text := lookalike.ReplaceAllStringFunc(b.String(), func(found string) string {
		return fmt.Sprintf(`\u%04x%s`, found[0], found[1:])
	})
	return os.WriteFile(path, []byte(text), 0o666)
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// Diff compares two transcripts and returns a line for each difference.
func (t *Transcript) Diff(want *Transcript) []string {
	g, err1 := t.parsed()
	w, err2 := want.parsed()
	if err := errors.Join(err1, err2); err != nil {
		return []string{err.Error()}
	}
	return vector.Diff(g, w)
}

func (t *Transcript) parsed() (any, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("transcript %s: %w", t.ID, err)
	}
	return jsonvalue.Parse(text)
}
