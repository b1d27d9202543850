package announce

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
)

// Report is what is said of a child's work to who spawned it (S5.5).
type Report struct {
	Outcome string // the status of the child's run, one of abi.Run
	Result  string
	Notes   string // empty: none
	Stats   Stats
}

// labels begin the parts of a report.
type labels struct{ status, result, notes string }

var (
	english    = labels{"Status", "Result", "Notes"}
	portuguese = labels{"Status", "Resultado", "Notas"}
)

// Labels returns the words before result and notes that an agent is asked to
// write, and that a report has.
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

// nothing stands for a part that is empty.
const nothing = "-"

// Text returns the report as it is announced.
func (r *Report) Text(inPortuguese bool) string {
	l := labelsOf(inPortuguese)
	return l.status + ": " + status(r.Outcome) +
		"\n" + l.result + ": " + orNothing(r.Result) +
		"\n" + l.notes + ": " + orNothing(r.Notes) +
		"\n\n" + r.Stats.line()
}

func orNothing(text string) string {
	if text == "" {
		return nothing
	}
	return text
}

// status is the word for how a run ended.
func status(outcome string) string {
	switch outcome {
	case abi.RunDone:
		return "success"
	case abi.RunTimeout, abi.RunKilled:
		return outcome
	}
	return "error"
}

// Read takes an agent's answer apart into what it says is the result, else all of
// it, and its notes. Labels of both languages count at the beginning of a line, in
// any case, with or without marks of emphasis around them. What the answer says
// about status and statistics is left out: those are facts, and not the agent's to
// tell.
func Read(answer string) (result, notes string) {
	r := reader{at: before}
	r.read(answer)
	if r.labelled {
		return r.text(isResult), r.text(isNotes)
	}
	return r.text(before), r.text(isNotes)
}

// Strip returns a text without what it says about status and statistics, as Read
// leaves that out: a result that nobody has put into the form of a report.
func Strip(text string) string {
	r := reader{at: before, whole: true}
	r.read(text)
	return r.text(before)
}

// reader puts the lines of an answer where they belong. It keeps no list of them,
// and copies as many at once as it can: an answer may have half a million, and a
// step has little time.
type reader struct {
	parts    [3][]byte // by part
	at       part
	labelled bool // there was a result
	whole    bool // everything is one part
	asked    bool // the last line with a text was the word Status alone
}

func (r *reader) read(text string) {
	text = lines(text)
	begin := 0 // of the lines that are in no part yet
	for start, next := 0, 0; start < len(text); start = next {
		end := len(text)
		if n := strings.IndexByte(text[start:], '\n'); n >= 0 {
			end = start + n
		}
		line := text[start:end]
		next = min(end+1, len(text))
		p, rest, found := label(line)
		switch {
		case r.answers(line), found && p >= isFact && (leavesOut(p, rest) || p == isFact && start == 0 && !r.whole):
			// The first line of an answer is its own status, whatever it says.
			r.add(text[begin:start])
			r.asked = p == isFact && rest == ""
		case found && p < isFact && !r.whole:
			r.add(text[begin:start])
			r.at, r.labelled = p, r.labelled || p == isResult
			if p, fact, found := label(rest); !found || p < isFact || !leavesOut(p, fact) {
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

// answers reports whether a line says what a heading before it has announced, and
// nothing else.
func (r *reader) answers(line string) bool {
	if !r.asked || strings.TrimSpace(line) == "" {
		return false
	}
	r.asked = false
	return isStatus(line) && strings.IndexFunc(line, unicode.IsLetter) >= 0
}

// lines makes every end of a line the same.
func lines(text string) string {
	if text = strings.TrimSpace(text); strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

func (r *reader) add(text string) { r.parts[r.at] = append(r.parts[r.at], text...) }

// leavesOut reports whether a line about a fact is left out: not one that is part of
// what was found, such as "Status: 200 OK".
func leavesOut(p part, rest string) bool {
	if p == isStats {
		return len(rest) >= len(runtime) && strings.EqualFold(rest[:len(runtime)], runtime)
	}
	return isStatus(rest)
}

// runtime begins statistics.
const runtime = "runtime"

// text returns a part.
func (r *reader) text(p part) string {
	t := strings.TrimSpace(string(r.parts[p]))
	if t == nothing {
		return ""
	}
	return t
}

// part is what of an answer a line belongs to.
type part int

const (
	before part = iota // the first label
	isResult
	isNotes
	isFact  // a line about status
	isStats // a line of statistics
)

// label reports whether a line begins a part, or is about a fact, and returns the
// rest of it.
func label(line string) (p part, rest string, found bool) {
	if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
		return 0, "", false // indented lines belong to what they are in
	}
	name, rest, found := cutLabel(strings.TrimLeft(unlisted(line), "# "))
	if !found && !strings.HasPrefix(line, "#") { // a heading needs no colon
		return 0, "", false
	}
	switch {
	case is(name, "result"), is(name, "resultado"):
		return isResult, rest, true
	case is(name, "notes"), is(name, "notas"):
		return isNotes, rest, true
	case is(name, "status"), is(name, "estado"):
		return isFact, rest, true
	case is(name, "stats"):
		return isStats, rest, true
	}
	return 0, "", false
}

// unlisted returns a line without the marks of a list or a quotation at its beginning.
func unlisted(line string) string {
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

// is compares a name with a word in lower case, and makes nothing for that.
func is(name, word string) bool { return len(name) == len(word) && strings.EqualFold(name, word) }

// marks are those of emphasis, and of a list.
const marks = "*_"

// cutLabel takes a line apart at its first colon. The marks around the name, or
// around the whole line, are left out; others belong to the rest.
func cutLabel(line string) (name, rest string, found bool) {
	text := strings.TrimLeft(line, marks)
	opened := line[:len(line)-len(text)]
	if name, rest, found = strings.Cut(text, ":"); !found {
		name, rest, found = strings.Cut(text, "\uff1a")
	}
	bare := strings.TrimRight(name, marks+" \t")
	if inside := bare == strings.TrimRight(name, " \t"); inside && !strings.HasPrefix(text, " ") {
		closed := mirrored(opened)
		if after, ok := strings.CutPrefix(rest, closed); ok {
			rest = after
		} else {
			rest = strings.TrimSuffix(strings.TrimRight(rest, " \t"), closed)
		}
	}
	return strings.TrimLeft(bare, " "), strings.TrimSpace(rest), found
}

// mirrored returns the marks that close what others have opened.
func mirrored(opened string) string {
	closed := []byte(opened)
	for i, j := 0, len(closed)-1; i < j; i, j = i+1, j-1 {
		closed[i], closed[j] = closed[j], closed[i]
	}
	return string(closed)
}

// isStatus reports whether a text says how work ended: a word for that, and then
// nothing or what is set off from it. "Status: 200 OK" and "Status: failed logins"
// are part of a result.
func isStatus(text string) bool {
	text = strings.TrimLeftFunc(text, func(r rune) bool { return !wordly(r) })
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(text)
	}
	rest := strings.TrimLeft(text[end:], " \t")
	if after, _ := utf8.DecodeRuneInString(rest); end > maxStatus || rest != "" && wordly(after) {
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

// wordly reports whether a character is part of words and numbers, as signs are not.
func wordly(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
