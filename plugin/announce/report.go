package announce

import (
	"strings"
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
	var parts [3]strings.Builder // by part
	at, labelled := before, false
	for _, line := range strings.Split(lines(answer), "\n") {
		p, rest, found := label(line)
		switch {
		case found && p == fact:
			continue
		case found:
			at, labelled, line = p, labelled || p == isResult, rest
		}
		parts[at].WriteString(line)
		parts[at].WriteByte('\n')
	}
	text := func(p part) string {
		t := strings.TrimSpace(parts[p].String())
		if t == nothing {
			return ""
		}
		return t
	}
	if labelled {
		return text(isResult), text(isNotes)
	}
	return text(before), text(isNotes)
}

// Strip returns a text without what it says about status and statistics, as Read
// leaves that out: a result that nobody has put into the form of a report.
func Strip(text string) string {
	var b strings.Builder
	for _, line := range strings.Split(lines(text), "\n") {
		if p, _, found := label(line); !found || p != fact {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return strings.TrimSpace(b.String())
}

// lines makes every end of a line the same.
func lines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n"), "\r", "\n")
}

// part is what of an answer a line belongs to.
type part int

const (
	before part = iota // the first label
	isResult
	isNotes
	fact // a line that is left out
)

// label reports whether a line begins a part, or is a fact, and returns the rest
// of it.
func label(line string) (p part, rest string, found bool) {
	if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
		return 0, "", false // indented lines belong to what they are in
	}
	name, rest, found := cutLabel(strings.TrimLeft(line, "# "))
	if !found && !strings.HasPrefix(line, "#") { // a heading needs no colon
		return 0, "", false
	}
	switch strings.ToLower(name) {
	case "result", "resultado":
		return isResult, rest, true
	case "notes", "notas":
		return isNotes, rest, true
	case "status":
		return fact, "", isStatus(rest)
	case "stats":
		return fact, "", strings.HasPrefix(strings.ToLower(rest), "runtime")
	}
	return 0, "", false
}

// marks are those of emphasis, and of a list.
const marks = "*_"

// cutLabel takes a line apart at its first colon. The marks around the name, or
// around the whole line, are left out; others belong to the rest.
func cutLabel(line string) (name, rest string, found bool) {
	text := strings.TrimLeft(line, marks)
	opened := line[:len(line)-len(text)]
	name, rest, found = strings.Cut(text, ":")
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

// isStatus reports whether a text says how work ended, whatever it goes on with. A
// line such as "Status: 200 OK" is part of a result.
func isStatus(text string) bool {
	text = strings.ToLower(text)
	start := strings.IndexFunc(text, func(r rune) bool { return isLetter(r) && r < utf8.RuneSelf || '0' <= r && r <= '9' })
	if start < 0 {
		return true
	}
	text = text[start:]
	if end := strings.IndexFunc(text, func(r rune) bool { return !isLetter(r) }); end >= 0 {
		text = text[:end]
	}
	switch text {
	case "success", "successful", "successfully", "succeeded", "ok", "done", "complete", "completed", "finished", "partial", "partially", "incomplete",
		"error", "failed", "failure", "timeout", "killed", "aborted", "cancelled", "canceled",
		"sucesso", "concluído", "concluido", "concluída", "concluida", "parcial", "erro", "falhou", "falha", "cancelado", "cancelada":
		return true
	}
	return false
}

// isLetter counts everything beyond ASCII as a letter.
func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || r >= utf8.RuneSelf }
