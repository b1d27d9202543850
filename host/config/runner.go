package config

import (
	"slices"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config/internal/document"
)

// Kinds of runners.
const (
	RunnerOpenAI  = "openai"
	RunnerCommand = "command"
	RunnerScript  = "script"
)

// Defaults of runners.
const (
	DefaultMaxOutputBytes  = 1 << 20
	DefaultHistoryMessages = 50
	DefaultHistoryBytes    = 256 << 10
)

// Runner is what executes an agent's runs. Which fields count depends on Kind.
type Runner struct {
	Kind string `config:"kind" oneOf:"openai command script" missing:"has no kind; it is one of openai, command, script"`

	// RunnerOpenAI: an OpenAI-compatible endpoint.
	BaseURL     string `config:"baseUrl" needed:"openai" format:"service"` // such as http://127.0.0.1:11434/v1
	APIKey      Secret `config:"apiKey" for:"openai" format:"credential" unset:"APIKeyUnset"`
	APIKeyUnset string // the environment variable that should hold it, if it is not set
	Model       string `config:"model" for:"openai"` // empty: the agent's

	// RunnerCommand: a program that reads the prompt from standard input.
	Argv           []string          `config:"argv" needed:"command" format:"exact" empty:"names no program; write one such as [\"claude\", \"-p\"]"`
	Dir            string            `config:"dir" for:"command"`                                                  // working directory; empty: the gateway's
	Env            map[string]Secret `config:"env" for:"command" names:"variable" format:"exact" unset:"EnvUnset"` // added to a small environment
	EnvUnset       []string          // the environment variables that Env should have come from and that are not set, sorted
	MaxOutputBytes int               `config:"maxOutputBytes" for:"command" range:"1 1073741824"` // of standard output

	// Both: how much of the transcript a prompt carries.
	HistoryMessages int `config:"historyMessages" for:"openai command" range:"0 1000"`
	HistoryBytes    int `config:"historyBytes" for:"openai command" range:"0 1073741824"`

	// RunnerScript: what to answer, turn by turn of a session; the last one again
	// when they are used up.
	Replies []Reply `config:"replies" needed:"script" empty:"is empty; give it at least one reply"`
}

// Reply is one scripted answer. Written as a plain text, it is Text alone.
type Reply struct {
	Text  string        `config:"text" format:"exact"`
	After time.Duration `config:"afterMs" range:"0 86400000"` // how long the answer takes
	Error string        `config:"error"`                      // the run fails with this
	Tool  string        `config:"tool"`                       // a tool to call first …
	Args  []byte        `config:"args"`                       // … with these arguments; {{result}} in Text stands for its result
	Usage *abi.Usage    `config:"usage"`                      // input and output tokens that the answer is said to have taken; nil: not known
}

func (n *Runner) read(r *reader, v value) {
	n.MaxOutputBytes, n.HistoryMessages, n.HistoryBytes = DefaultMaxOutputBytes, DefaultHistoryMessages, DefaultHistoryBytes
	r.object(v, n)
	if len(n.Argv) > 0 && strings.TrimSpace(n.Argv[0]) == "" {
		r.problem(v.get("argv").item(0), "names no program")
	}
	slices.Sort(n.EnvUnset)
	n.EnvUnset = slices.Compact(n.EnvUnset)
	if n.Kind != RunnerCommand {
		n.MaxOutputBytes = 0
	}
	if n.Kind == RunnerScript {
		n.HistoryMessages, n.HistoryBytes = 0, 0
	}
}

func (reply *Reply) read(r *reader, v value) {
	switch v.node.Kind {
	case document.Object:
		r.object(v, reply)
	case document.String:
		reply.Text, _ = r.text(v, &member{tag: `format:"exact"`})
		return
	default:
		r.problem(v, "is %s; it must be a string, or {text, afterMs, error, tool, args, usage}", v.node.Kind)
		return
	}
	failure, usage, args := v.get("error"), v.get("usage"), v.get("args")
	if usage.node.Kind == document.Object && !usage.get("input").given() && !usage.get("output").given() {
		r.problem(usage, "is empty; give it input, output or both")
	}
	if failure.given() && v.get("text").given() {
		r.problem(failure, "is given beside a text; a reply is one or the other")
	}
	if failure.given() && usage.given() {
		r.problem(usage, "is given beside an error; only an answer has one")
	}
	if args.given() && reply.Tool == "" {
		r.problem(args, "is given without a tool")
	}
}
