package announce

import (
	"strings"

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
// any case, with or without marks of emphasis around them. What the answer says about status and statistics
// is left out: those are facts, and not the agent's to tell.
func Read(answer string) (result, notes string) {
	var parts [3]strings.Builder // by part
	at, labelled := before, false
	answer = strings.TrimSpace(answer)
	begin := 0 // of the lines that are in no part yet
	for line, end := 0, 0; line < len(answer); line = end {
		end = len(answer)
		if n := strings.IndexByte(answer[line:], '\n'); n >= 0 {
			end = line + n + 1
		}
		p, rest, found := label(answer[line:end])
		if !found {
			continue
		}
		parts[at].WriteString(answer[begin:line])
		begin = end
		if p == fact {
			continue
		}
		at, labelled = p, labelled || p == isResult
		parts[at].WriteString(rest)
		parts[at].WriteByte('\n')
	}
	parts[at].WriteString(answer[begin:])
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
	name, rest, found := strings.Cut(strings.TrimLeft(strings.TrimLeft(line, "#*_"), " "), ":")
	if !found {
		return 0, "", false
	}
	rest = strings.TrimSpace(strings.TrimLeft(rest, "*_ \t"))
	switch strings.ToLower(strings.TrimRight(name, "*_ \t")) {
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

// isStatus reports whether a text is a word for how work ended. A line such as
// "Status: 200 OK" is part of a result.
func isStatus(text string) bool {
	switch strings.ToLower(strings.Trim(text, "*_. \t`\r")) {
	case "", "success", "error", "timeout", "killed", "done", "failed", "ok", "completed", "complete", "failure",
		"sucesso", "erro", "concluído", "concluido", "falhou", "falha", "cancelado":
		return true
	}
	return false
}
