package importer

import "github.com/parley-wasm/parley/abi/jsonstrict"

// Kinds of repair that a Report counts.
const (
	repairUTF8           = "utf8"
	repairSurrogates     = "surrogates"
	repairControls       = "controls"
	repairNumbers        = "numbers"
	repairDuplicates     = "duplicates"
	repairByteOrderMarks = "marks"
	repairTruncated      = "cut" // a text that was too long
)

// repairs counts the normalised parts of one record.
type repairs struct{ jsonstrict.Report }

// normalizeJSON returns raw as strict JSON, and the repairs that it made.
func normalizeJSON(raw []byte) ([]byte, repairs, error) {
	if jsonstrict.Check(raw) == nil {
		return raw, repairs{}, nil
	}
	clean, r, err := jsonstrict.Normalize(nil, raw)
	return clean, repairs{r}, err
}

// report counts the repairs and lists them with the record's file and line.
func (f repairs) report(r *Report, file string, line int, prefix string) {
	if f.IsZero() {
		return
	}
	for kind, n := range map[string]int{
		repairUTF8: f.UTF8, repairSurrogates: f.Surrogates, repairControls: f.Controls,
		repairNumbers: f.Numbers, repairDuplicates: f.Duplicates, repairByteOrderMarks: f.ByteOrderMarks,
	} {
		if n > 0 {
			r.Repairs[kind] += n
		}
	}
	r.problem(file, line, Repaired, prefix+"repaired "+f.String())
}
