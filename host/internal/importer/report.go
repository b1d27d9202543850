package importer

import (
	"strconv"
	"unicode/utf8"
)

// Kinds of Problem. The first group was not taken as it is; the second is worth
// knowing but lost nothing.
const (
	BadConfig        = "bad-config"        // openclaw.json could not be read; defaults hold
	BadAgent         = "bad-agent"         // a directory under agents/ whose name is no agent id
	BadStore         = "bad-store"         // a sessions.json could not be read
	BadKey           = "bad-key"           // an entry whose key can be no session key
	ReservedKey      = "reserved-key"      // an entry under a reserved word (S1.3)
	BadEntry         = "bad-entry"         // an entry that is no object or names no transcript
	BadField         = "bad-field"         // a member of a wrong type or value; left out
	DuplicateKey     = "duplicate-key"     // a key that is twice in a file; the last one counts
	DuplicateSession = "duplicate-session" // another spelling of a session; the newer one counts
	Outside          = "outside"           // a file outside the state directory; not read
	Unreadable       = "unreadable"        // a file that is no regular file or cannot be opened
	BrokenLine       = "broken-line"       // a line that is no JSON object
	LongLine         = "long-line"         // a line over MaxLine
	BadMessage       = "bad-message"       // a message entry without a message in it
	BadRun           = "bad-run"           // a record of the run registry that says nothing usable

	Repaired          = "repaired"           // text that was normalised on its way in
	OtherAgent        = "other-agent"        // an entry whose key names another agent than its directory
	Moved             = "moved"              // a transcript found here though its entry names it elsewhere
	MissingTranscript = "missing-transcript" // an entry without a transcript; its history is empty
	NoHeader          = "no-header"          // a transcript that does not start with a session line
	HeaderMismatch    = "header-mismatch"    // a transcript whose header names another session or a newer version
	DuplicateLine     = "duplicate-line"     // a line whose id was there before; both are kept
	Unfinished        = "unfinished"         // a half-written last line
	UnknownType       = "unknown-type"       // a line of a type that is not documented
	Orphan            = "orphan"             // a transcript that no entry names
	RunOrphan         = "run-orphan"         // a run whose child session is not here
	RunUnfinished     = "run-unfinished"     // a run that had not ended; nothing runs after an import
)

var notes = map[string]bool{
	Repaired: true, OtherAgent: true, Moved: true, MissingTranscript: true, NoHeader: true, HeaderMismatch: true,
	DuplicateLine: true, Unfinished: true, UnknownType: true, Orphan: true, RunOrphan: true, RunUnfinished: true,
}

// IsNote reports whether problems of this kind lost nothing.
func IsNote(kind string) bool { return notes[kind] }

// MaxListed is how many problems of one kind a Report lists. Its totals count
// them all.
const MaxListed = 1000

const (
	maxText      = 300 // bytes of a problem's text
	maxLineTypes = 64  // line types that are counted by name
	otherTypes   = "(other)"
)

// Report says what an import did. It is JSON-marshalable; maps are never nil.
type Report struct {
	Dir         string         `json:"dir"`
	Agents      []string       `json:"agents"`
	Sessions    Counts         `json:"sessions"`
	Messages    Counts         `json:"messages"`
	Transcripts Transcripts    `json:"transcripts"`
	Lines       map[string]int `json:"skippedLines"` // by entry type: lines that are no messages
	Ignored     map[string]int `json:"ignoredFiles"` // by suffix: deleted, bak, reset
	Repairs     map[string]int `json:"repairs"`      // by kind of repair
	Bytes       int64          `json:"bytes"`        // of stores and transcripts
	Totals      map[string]int `json:"totals"`       // by kind, of Problems and those beyond MaxListed
	Problems    []Problem      `json:"problems"`     // in the order found
}

// Counts says what happened to records of one sort.
type Counts struct {
	Inserted  int `json:"inserted"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	Skipped   int `json:"skipped"`
}

// Transcripts says what happened to transcript files.
type Transcripts struct {
	Read      int `json:"read"`
	Unchanged int `json:"unchanged"` // known from an earlier import; not read again
	Known     int `json:"known"`     // problems that were reported when those were read
	Missing   int `json:"missing"`
}

// Problem is something that was skipped, normalised or worth a note.
type Problem struct {
	File string `json:"file"`           // relative to the state directory, with slashes
	Line int    `json:"line,omitempty"` // 1-based; 0 = the whole file
	Kind string `json:"kind"`
	Text string `json:"text"` // one line, printable
}

func newReport(dir string) *Report {
	return &Report{
		Dir: dir, Agents: []string{}, Problems: []Problem{},
		Lines: map[string]int{}, Ignored: map[string]int{}, Repairs: map[string]int{}, Totals: map[string]int{},
	}
}

func (r *Report) problem(file string, line int, kind, text string) {
	r.Totals[kind]++
	if r.Totals[kind] <= MaxListed {
		r.Problems = append(r.Problems, Problem{File: printable(file), Line: line, Kind: kind, Text: printable(text)})
	}
}

// known says how many problems there are so far, of all kinds.
func (r *Report) known() (n int) {
	for _, c := range r.Totals {
		n += c
	}
	return n
}

func (r *Report) skipLine(kind string) {
	if _, ok := r.Lines[kind]; !ok && len(r.Lines) >= maxLineTypes {
		kind = otherTypes
	}
	r.Lines[kind]++
}

// printable keeps a text to one line of bounded length that a terminal shows as
// it is: what is quoted in a report was written by anybody.
func printable(s string) string {
	var b []byte
	for s = clip(s, maxText); s != ""; {
		c, n := utf8.DecodeRuneInString(s)
		if strconv.IsPrint(c) && (c != utf8.RuneError || n > 1) {
			b = append(b, s[:n]...)
		} else {
			q := strconv.QuoteToASCII(s[:n])
			b = append(b, q[1:len(q)-1]...)
		}
		s = s[n:]
	}
	return string(b)
}

// clip cuts s to n bytes on a code-point boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
