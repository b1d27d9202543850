package importer

import (
	"strconv"
	"unicode/utf8"
)

// Kinds of Problem. In the first group data was skipped or changed; problems in the
// second group are notes, without loss of data.
const (
	BadConfig        = "bad-config"        // openclaw.json could not be read or used; defaults apply
	BadAgent         = "bad-agent"         // a directory under agents/ whose name is not an agent id
	BadStore         = "bad-store"         // a sessions.json could not be read
	BadKey           = "bad-key"           // an entry whose key is not a valid session key
	ReservedKey      = "reserved-key"      // an entry whose key is a reserved word (S1.3)
	BadEntry         = "bad-entry"         // an entry that is not an object or has no usable sessionId
	BadField         = "bad-field"         // a member with a wrong type or value; omitted
	DuplicateKey     = "duplicate-key"     // a key that occurs twice in a file; the last entry is used
	DuplicateSession = "duplicate-session" // another spelling of a session's key; the newer entry is used
	Outside          = "outside"           // a file outside the state directory; not read
	Unreadable       = "unreadable"        // a file that is not regular or cannot be opened
	BrokenLine       = "broken-line"       // a line that is not a JSON object
	LongLine         = "long-line"         // a line longer than MaxLine
	BadMessage       = "bad-message"       // a message line without a usable message
	BadRun           = "bad-run"           // an unusable record of the run registry

	Repaired          = "repaired"           // text that was normalised
	OtherAgent        = "other-agent"        // an entry whose key and directory name different agents
	Moved             = "moved"              // a transcript found in the state directory, although its entry names another directory
	MissingTranscript = "missing-transcript" // an entry whose transcript does not exist; its history is empty
	NoHeader          = "no-header"          // a transcript that does not start with a session line
	HeaderMismatch    = "header-mismatch"    // a transcript whose header names another session or a newer version
	DuplicateLine     = "duplicate-line"     // a line with the id of an earlier line; both are kept
	Unfinished        = "unfinished"         // a half-written last line
	UnknownType       = "unknown-type"       // a line of an undocumented type
	Orphan            = "orphan"             // a transcript to which no entry refers
	RunOrphan         = "run-orphan"         // a run whose child session does not exist
	RunUnfinished     = "run-unfinished"     // a run that had not ended; the import does not resume it
)

var notes = map[string]bool{
	Repaired: true, OtherAgent: true, Moved: true, MissingTranscript: true, NoHeader: true, HeaderMismatch: true,
	DuplicateLine: true, Unfinished: true, UnknownType: true, Orphan: true, RunOrphan: true, RunUnfinished: true,
}

// IsNote reports whether problems of this kind are notes, without loss of data.
func IsNote(kind string) bool { return notes[kind] }

// MaxListed is the maximum number of problems of one kind that a Report lists. Its
// totals count all of them.
const MaxListed = 1000

const (
	maxText      = 300 // bytes of a problem's text
	maxLineTypes = 64  // line types that are counted by name
	otherTypes   = "(other)"
)

// Report is the result of an import. It is JSON-marshalable; its maps are never nil.
type Report struct {
	Dir         string         `json:"dir"`
	Agents      []string       `json:"agents"`
	Sessions    Counts         `json:"sessions"`
	Messages    Counts         `json:"messages"`
	Transcripts Transcripts    `json:"transcripts"`
	Lines       map[string]int `json:"skippedLines"` // lines other than messages, by type
	Ignored     map[string]int `json:"ignoredFiles"` // old copies by suffix: deleted, bak, reset
	Repairs     map[string]int `json:"repairs"`      // by kind of repair
	Bytes       int64          `json:"bytes"`        // size of the stores and transcripts
	Totals      map[string]int `json:"totals"`       // problems by kind, including those beyond MaxListed
	Problems    []Problem      `json:"problems"`     // in the order found
}

// Counts are the results for sessions or messages.
type Counts struct {
	Inserted  int `json:"inserted"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	Skipped   int `json:"skipped"`
}

// Transcripts counts transcript files.
type Transcripts struct {
	Read          int `json:"read"`
	Unchanged     int `json:"unchanged"` // since an earlier import; not read again
	KnownProblems int `json:"known"`     // problems reported when the unchanged files were read
	Missing       int `json:"missing"`
}

// Problem describes a skipped or normalised record, or a note.
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

// total returns the number of problems so far, of all kinds.
func (r *Report) total() (n int) {
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

// printable reduces s to one line of bounded length and escapes unprintable characters,
// because reports quote untrusted input and are shown in terminals.
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

// clip truncates s to at most n bytes, at a code-point boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
