package config

import (
	"time"

	"github.com/parley-wasm/parley/abi"
)

// Kinds of runners.
const (
	RunnerOpenAI  = "openai"
	RunnerCommand = "command"
	RunnerScript  = "script"
)

// Runner is what executes an agent's runs. Which fields count depends on Kind.
type Runner struct {
	Kind string

	// RunnerOpenAI: an OpenAI-compatible endpoint.
	BaseURL     string // such as http://127.0.0.1:11434/v1
	APIKey      Secret
	APIKeyUnset string // the environment variable that should hold it, if it is not set
	Model       string // runner.model; empty: the agent's

	// RunnerCommand: a program that reads the prompt from standard input.
	Argv           []string
	Dir            string            // working directory; empty: the gateway's
	Env            map[string]Secret // added to a small environment
	EnvUnset       []string          // the environment variables that Env should have come from and that are not set, sorted
	MaxOutputBytes int               // of standard output; 1 MiB

	// Both: how much of the transcript a prompt carries.
	HistoryMessages int // 50
	HistoryBytes    int // 256 KiB

	// RunnerScript: what to answer, turn by turn of a session; the last one again
	// when they are used up.
	Replies []Reply
}

// Reply is one scripted answer. Written as a plain text, it is Text alone.
type Reply struct {
	Text  string
	After time.Duration // afterMs: how long the answer takes
	Error string        // the run fails with this
	Tool  string        // a tool to call first …
	Args  []byte        // … with these arguments; {{result}} in Text stands for its result
	Usage *abi.Usage    // input and output tokens that the answer is said to have taken; nil: not known
}
