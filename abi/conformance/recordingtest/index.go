package recordingtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// IndexFile is the name of the file that lists the vectors with a recording, and the
// others with the reason why they have none.
const IndexFile = "index.json"

// SaveIndex writes the index. reasons maps each vector's id to the reason why the vector
// has no recording, or to "" if it has one.
func SaveIndex(dir string, reasons map[string]string) error {
	var with, without []string
	for id, reason := range reasons {
		if reason == "" {
			with = append(with, fmt.Sprintf("    %s", jsonvalue.Compact(id)))
		} else {
			without = append(without, fmt.Sprintf("    %s: %s", jsonvalue.Compact(id), jsonvalue.Compact(reason)))
		}
	}
	sort.Strings(with)
	sort.Strings(without)
	text := fmt.Sprintf("{\n  \"recordings\": [\n%s\n  ],\n  \"without\": {\n%s\n  }\n}\n", strings.Join(with, ",\n"), strings.Join(without, ",\n"))
	return os.WriteFile(filepath.Join(dir, IndexFile), []byte(text), 0o666)
}

// LoadIndex reads the index. The result maps each vector's id to the reason why
// the vector has no recording, or to "" if it has one.
func LoadIndex(dir string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, IndexFile))
	if err != nil {
		return nil, fmt.Errorf("recordings: %w", err)
	}
	var index struct {
		Recordings []string
		Without    map[string]string
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("recordings: %s: %w", IndexFile, err)
	}
	reasons := map[string]string{}
	for _, id := range index.Recordings {
		reasons[id] = ""
	}
	for id, reason := range index.Without {
		reasons[id] = reason
	}
	return reasons, nil
}
