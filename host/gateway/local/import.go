package local

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/importer"
)

// ImportReport is the result of an import: the imported and the skipped items.
type ImportReport = importer.Report

// ImportProgress is the progress of an import.
type ImportProgress = importer.Progress

// Import makes the owner import an OpenClaw state directory. dir must be an absolute
// path; progress may be nil.
func (c *Client) Import(ctx context.Context, dir string, progress func(ImportProgress)) (report *ImportReport, err error) {
	body := ImportMembers.Append(nil, &ImportRequest{Dir: dir})
	err = c.do(ctx, http.MethodPost, "/v1/import", body, func(r *http.Response) error {
		if r.StatusCode != http.StatusOK {
			text, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
			if err != nil {
				return err
			}
			return wireError(r.StatusCode, gjson.ParseBytes(text))
		}
		for events := json.NewDecoder(r.Body); report == nil; {
			var e ImportEvent
			if err := events.Decode(&e); err != nil {
				return err // the owner ended before the import did
			}
			switch {
			case e.Error != nil:
				return abi.NewError(e.Error.Code, e.Error.Message)
			case e.Report != nil:
				report = e.Report
			case e.Progress != nil && progress != nil:
				progress(*e.Progress)
			}
		}
		return nil
	})
	return report, err
}
