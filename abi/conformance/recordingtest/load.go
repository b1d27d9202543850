package recordingtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Load reads the recordings of a file, or of all files below a folder. Their ids must
// be unique.
func Load(path string) ([]*Recording, error) {
	var all []*Recording
	files := map[string]string{} // by id
	err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" || d.Name() == IndexFile {
			return err
		}
		recordings, err := loadFile(path)
		for _, r := range recordings {
			if other, ok := files[r.ID]; ok {
				return fmt.Errorf("%s: %s is also in %s", path, r.ID, other)
			}
			files[r.ID] = path
		}
		all = append(all, recordings...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("recordings: %w", err)
	}
	return all, nil
}

// Find reads one recording by id from a file, or from the files below a folder.
func Find(path, id string) (*Recording, error) {
	all, err := Load(path)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.ID == id {
			return r, nil
		}
	}
	return nil, fmt.Errorf("recordings: %s: no recording %s", path, id)
}

func loadFile(path string) ([]*Recording, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var recordings []*Recording
	if err := d.Decode(&recordings); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return recordings, nil
}
