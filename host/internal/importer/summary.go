package importer

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteSummary writes the report as text: the counts, and at most perKind problems of
// each kind.
func (r *Report) WriteSummary(w io.Writer, perKind int) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "Imported %s\n", r.Dir)
	fmt.Fprintf(b, "  agents       %d (%s)\n", len(r.Agents), orDash(strings.Join(r.Agents, ", ")))
	fmt.Fprintf(b, "  sessions     %s\n", r.Sessions)
	fmt.Fprintf(b, "  messages     %s\n", r.Messages)
	fmt.Fprintf(b, "  transcripts  %d read, %d unchanged, %d missing\n", r.Transcripts.Read, r.Transcripts.Unchanged, r.Transcripts.Missing)
	writeCounts(b, "other lines", r.Lines)
	writeCounts(b, "old copies", r.Ignored)
	writeCounts(b, "repairs", r.Repairs)
	if r.Transcripts.KnownProblems > 0 {
		fmt.Fprintf(b, "  known        %d problems in unchanged transcripts, reported when they were read\n", r.Transcripts.KnownProblems)
	}
	for _, note := range []bool{false, true} {
		kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(r.Totals)), func(k string) bool { return IsNote(k) != note })
		if len(kinds) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s\n", map[bool]string{false: "Skipped or changed:", true: "Notes:"}[note])
		for _, kind := range kinds {
			r.writeKind(b, kind, perKind)
		}
	}
	return b.Flush()
}

func (r *Report) writeKind(w io.Writer, kind string, perKind int) {
	fmt.Fprintf(w, "  %s (%d)\n", kind, r.Totals[kind])
	shown := 0
	for _, p := range r.Problems {
		if p.Kind != kind {
			continue
		}
		if shown == perKind {
			break
		}
		shown++
		fmt.Fprintf(w, "    %s: %s\n", p.Position(), p.Text)
	}
	if rest := r.Totals[kind] - shown; rest > 0 && perKind > 0 {
		fmt.Fprintf(w, "    … and %d more\n", rest)
	}
}

// Position returns the problem's position as file:line, or the file alone.
func (p Problem) Position() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// String returns the counts as text.
func (c Counts) String() string {
	s := fmt.Sprintf("%d new, %d updated, %d unchanged", c.Inserted, c.Updated, c.Unchanged)
	if c.Skipped > 0 {
		s += fmt.Sprintf(", %d skipped", c.Skipped)
	}
	return s
}

func writeCounts(w io.Writer, title string, m map[string]int) {
	if len(m) == 0 {
		return
	}
	parts := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
	}
	fmt.Fprintf(w, "  %-12s %s\n", title, strings.Join(parts, ", "))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
