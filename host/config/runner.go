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

// Runner configures the execution of an agent's runs. Kind determines which fields apply.
type Runner struct {
	Kind string `config:"kind" oneOf:"openai command script" missing:"has no kind; it is one of openai, command, script"`

	// RunnerOpenAI: an OpenAI-compatible endpoint.
	BaseURL     string `config:"baseUrl" needed:"openai" format:"service"` // such as http://127.0.0.1:11434/v1
	APIKey      Secret `config:"apiKey" for:"openai" format:"credential" unset:"APIKeyUnset"`
	APIKeyUnset string // the name of APIKey's environment variable if the variable is not set
	Model       string `config:"model" for:"openai"` // empty: the agent's model

	// RunnerCommand: a program that reads the prompt from standard input.
	Argv           []string          `config:"argv" needed:"command" format:"exact" empty:"has no program; write one such as [\"claude\", \"-p\"]"`
	Dir            string            `config:"dir" for:"command"`                                                  // working directory; empty: the gateway's
	Env            map[string]Secret `config:"env" for:"command" names:"variable" format:"exact" unset:"EnvUnset"` // added to a minimal environment
	EnvUnset       []string          // sorted names of the environment variables of Env that are not set
	MaxOutputBytes int               `config:"maxOutputBytes" for:"command" range:"1 1073741824"` // of standard output

	// RunnerOpenAI and RunnerCommand: limits of the transcript in a prompt.
	HistoryMessages int `config:"historyMessages" for:"openai command" range:"0 1000"`
	HistoryBytes    int `config:"historyBytes" for:"openai command" range:"0 1073741824"`

	// RunnerScript: the answers to the successive runs of a session. Further runs repeat the
	// last one.
	Replies []Reply `config:"replies" needed:"script" empty:"is empty; give it at least one reply"`
}

// Reply is one scripted answer. In the file, a string is a reply with only Text.
type Reply struct {
	Text  string        `config:"text" format:"exact"`
	After time.Duration `config:"afterMs" range:"0 86400000"` // delay before the answer
	Error string        `config:"error"`                      // the run fails with this error
	Tool  string        `config:"tool"`                       // a tool to call before the answer
	Args  []byte        `config:"args"`                       // the tool's arguments; {{result}} in Text is replaced with its result
	Usage *abi.Usage    `config:"usage"`                      // input and output tokens to report for the answer; nil: unknown
}

func (n *Runner) read(r *reader, v value) {
	n.MaxOutputBytes, n.HistoryMessages, n.HistoryBytes = DefaultMaxOutputBytes, DefaultHistoryMessages, DefaultHistoryBytes
	r.object(v, n)
	if len(n.Argv) > 0 && strings.TrimSpace(n.Argv[0]) == "" {
		r.problem(v.get("argv").item(0), "is blank; it must name a program")
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
		r.problem(failure, "is given together with text; a reply has one or the other")
	}
	if failure.given() && usage.given() {
		r.problem(usage, "is given together with error; only an answer has usage")
	}
	if args.given() && reply.Tool == "" {
		r.problem(args, "is given without a tool")
	}
}
