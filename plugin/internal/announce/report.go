package announce

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
)

// Report is the report about a child's work to the session that spawned it (S5.5).
type Report struct {
	Outcome string // the status of the child's run: abi.RunDone, abi.RunFailed, …
	Result  string
	Notes   string // empty: none
	Stats   Stats
}

// labels are the words that introduce the parts of a report.
type labels struct{ status, result, notes string }

var (
	english    = labels{"Status", "Result", "Notes"}
	portuguese = labels{"Status", "Resultado", "Notas"}
)

// Labels returns the labels of result and notes in a report. Agents are asked to write
// the same labels.
func Labels(inPortuguese bool) (result, notes string) {
	l := labelsOf(inPortuguese)
	return l.result, l.notes
}

func labelsOf(inPortuguese bool) labels {
	if inPortuguese {
		return portuguese
	}
	return english
}

// emptyPart is the text of a part without content.
const emptyPart = "-"

// Text returns the text of the report.
func (r *Report) Text(inPortuguese bool) string {
	l := labelsOf(inPortuguese)
	return l.status + ": " + status(r.Outcome) +
		"\n" + l.result + ": " + orEmptyPart(r.Result) +
		"\n" + l.notes + ": " + orEmptyPart(r.Notes) +
		"\n\n" + r.Stats.line()
}

func orEmptyPart(text string) string {
	if text == "" {
		return emptyPart
	}
	return text
}

// status returns the word for a run's outcome.
func status(outcome string) string {
	switch outcome {
	case abi.RunDone:
		return "success"
	case abi.RunTimeout, abi.RunKilled:
		return outcome
	}
	return "error"
}

// Read splits an agent's answer into result and notes. An answer without a result label
// is the result as a whole. Labels of both languages count at the beginning of a line,
// in any case, with or without emphasis around them. Read removes lines about status
// and statistics: the host supplies those values, not the agent.
func Read(answer string) (result, notes string) {
	r := reader{at: partUnlabelled}
	r.read(answer)
	if r.labelled {
		return r.text(partResult), r.text(partNotes)
	}
	return r.text(partUnlabelled), r.text(partNotes)
}

// Strip returns a text without its lines about status and statistics, as Read removes
// them. It is for a result that does not have the form of a report.
func Strip(text string) string {
	r := reader{at: partUnlabelled, whole: true}
	r.read(text)
	return r.text(partUnlabelled)
}

// reader assigns the lines of an answer to parts. An answer may have half a million
// lines, and a step has little time. The reader therefore keeps no list of lines, and
// copies consecutive lines of a part together.
type reader struct {
	parts    [3][]byte // by part
	at       part
	labelled bool // a line had the label of the result
	whole    bool // labels do not start parts
	heading  bool // the last line with text was the label Status alone
}

func (r *reader) read(text string) {
	text = lines(text)
	begin := 0 // start of the lines that have not been added to a part
	for start, next := 0, 0; start < len(text); start = next {
		end := len(text)
		if n := strings.IndexByte(text[start:], '\n'); n >= 0 {
			end = start + n
		}
		line := text[start:end]
		next = min(end+1, len(text))
		p, rest, found := label(line)
		switch {
		case r.isHeadingValue(line), found && p >= partStatus && (omits(p, rest) || p == partStatus && start == 0 && !r.whole):
			// A status on the first line is always the status of the work itself.
			r.add(text[begin:start])
			r.heading = p == partStatus && rest == ""
		case found && p < partStatus && !r.whole:
			r.add(text[begin:start])
			r.at, r.labelled = p, r.labelled || p == partResult
			if p, value, found := label(rest); !found || p < partStatus || !omits(p, value) {
				r.add(rest)
				r.add("\n")
			}
		default:
			continue
		}
		begin = next
	}
	r.add(text[begin:])
}

// isHeadingValue reports whether a line is the status that a heading on an earlier line
// introduces, and contains nothing else.
func (r *reader) isHeadingValue(line string) bool {
	if !r.heading || strings.TrimSpace(line) == "" {
		return false
	}
	r.heading = false
	return isStatus(line) && strings.IndexFunc(line, unicode.IsLetter) >= 0
}

// lines normalizes line ends to \n.
func lines(text string) string {
	if text = strings.TrimSpace(text); strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

func (r *reader) add(text string) { r.parts[r.at] = append(r.parts[r.at], text...) }

// omits reports whether a line with a label of status or statistics is removed. A line
// that is part of the result, such as "Status: 200 OK", is not.
func omits(p part, rest string) bool {
	if p == partStats {
		return len(rest) >= len(runtime) && strings.EqualFold(rest[:len(runtime)], runtime)
	}
	return isStatus(rest)
}

// runtime is the first word of a line of statistics, without its label.
const runtime = "runtime"

// text returns the text of a part.
func (r *reader) text(p part) string {
	t := strings.TrimSpace(string(r.parts[p]))
	if t == emptyPart {
		return ""
	}
	return t
}

// part is the part of an answer to which a line belongs.
type part int

const (
	partUnlabelled part = iota // before the first label
	partResult
	partNotes
	partStatus // a line about status
	partStats  // a line of statistics
)

// label reports whether a line starts with a label, and returns the label's part and
// the rest of the line.
func label(line string) (p part, rest string, found bool) {
	if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
		return 0, "", false // indented lines belong to the part around them
	}
	name, rest, found := splitLabel(strings.TrimLeft(trimListMarkers(line), "# "))
	if !found && !strings.HasPrefix(line, "#") { // a heading needs no colon
		return 0, "", false
	}
	switch {
	case is(name, "result"), is(name, "resultado"):
		return partResult, rest, true
	case is(name, "notes"), is(name, "notas"):
		return partNotes, rest, true
	case is(name, "status"), is(name, "estado"):
		return partStatus, rest, true
	case is(name, "stats"):
		return partStats, rest, true
	}
	return 0, "", false
}

// trimListMarkers returns a line without the list and quotation markers at its beginning.
func trimListMarkers(line string) string {
	for {
		short := strings.TrimLeft(line, ">-+•\u00a0")
		if after, ok := strings.CutPrefix(short, "* "); ok {
			short = after
		}
		if len(short) == len(line) {
			return line
		}
		line = strings.TrimLeft(short, " ")
	}
}

// is reports whether a name equals a lower-case word, ignoring case. It does not allocate.
func is(name, word string) bool { return len(name) == len(word) && strings.EqualFold(name, word) }

// emphasis contains the characters of Markdown emphasis.
const emphasis = "*_"

// splitLabel splits a line at its first colon. Emphasis around the name or around the
// whole line is removed; other emphasis stays in the rest.
func splitLabel(line string) (name, rest string, found bool) {
	text := strings.TrimLeft(line, emphasis)
	opened := line[:len(line)-len(text)]
	if name, rest, found = strings.Cut(text, ":"); !found {
		name, rest, found = strings.Cut(text, "\uff1a")
	}
	bare := strings.TrimRight(name, emphasis+" \t")
	if inside := bare == strings.TrimRight(name, " \t"); inside && !strings.HasPrefix(text, " ") {
		closed := reverse(opened)
		if after, ok := strings.CutPrefix(rest, closed); ok {
			rest = after
		} else {
			rest = strings.TrimSuffix(strings.TrimRight(rest, " \t"), closed)
		}
	}
	return strings.TrimLeft(bare, " "), strings.TrimSpace(rest), found
}

// reverse returns the emphasis that closes opened: the same characters in reverse order.
func reverse(opened string) string {
	closed := []byte(opened)
	for i, j := 0, len(closed)-1; i < j; i, j = i+1, j-1 {
		closed[i], closed[j] = closed[j], closed[i]
	}
	return string(closed)
}

// isStatus reports whether a text is the status of finished work: a word from the list,
// at the end or followed by punctuation. "Status: 200 OK" and "Status: failed logins"
// are part of a result.
func isStatus(text string) bool {
	text = strings.TrimLeftFunc(text, func(r rune) bool { return !isWordRune(r) })
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(text)
	}
	rest := strings.TrimLeft(text[end:], " \t")
	if after, _ := utf8.DecodeRuneInString(rest); end > maxStatus || rest != "" && isWordRune(after) {
		return false
	}
	switch strings.ToLower(text[:end]) {
	case "", "success", "successful", "successfully", "succeeded", "ok", "done", "complete", "completed", "finished", "partial", "partially", "incomplete",
		"error", "failed", "failure", "timeout", "killed", "aborted", "cancelled", "canceled",
		"sucesso", "concluído", "concluido", "concluída", "concluida", "parcial", "erro", "falhou", "falha", "cancelado", "cancelada":
		return true
	}
	return false
}

// maxStatus is at least the length of every word above, in bytes.
const maxStatus = 16

// isWordRune reports whether a character is a letter or a digit.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
