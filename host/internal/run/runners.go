package run

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/run/command"
	"github.com/parley-wasm/parley/host/internal/run/openai"
	"github.com/parley-wasm/parley/host/internal/run/script"
	"github.com/parley-wasm/parley/host/runner"
)

// RunnerOptions say what agents work with besides their configuration.
type RunnerOptions struct {
	// Supervisor starts the supervisor of command agents, see command.Options;
	// empty: this executable with the argument "runner-exec".
	Supervisor []string
	// Client asks the endpoints of openai agents; nil: http.DefaultClient.
	Client *http.Client
}

// Runners are the runners of one configuration at a time: an agent's own, or that of
// agents.defaults. It is safe for concurrent use and needs no closing.
//
// A runner is made when the first run of its agent asks for it, and kept until the
// configuration changes; a run that has begun keeps its runner. So a runner that
// cannot work, because a variable of its environment is not set, fails the runs of
// its own agent and nothing else. A model endpoint without a key is tried: local
// endpoints want none, and others say so.
type Runners struct {
	options RunnerOptions

	mu     sync.Mutex
	config *config.Config
	made   map[string]runner.Runner // by agent id
}

// NewRunners returns the runners of a configuration. It makes none yet.
func NewRunners(c *config.Config, o *RunnerOptions) *Runners {
	r := &Runners{}
	if o != nil {
		r.options = *o
		r.options.Supervisor = slices.Clone(o.Supervisor)
	}
	r.Configure(c)
	return r
}

// Configure puts another configuration in force, for every run that begins from
// now.
func (r *Runners) Configure(c *config.Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.config, r.made = c, map[string]runner.Runner{}
}

// Runner returns what executes the runs of an agent. Its error says what the
// configuration lacks.
func (r *Runners) Runner(agentID string) (runner.Runner, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.made[agentID]; ok {
		return a, nil
	}
	agents := &r.config.Agents
	if len(agents.List) > 0 && !slices.Contains(agents.IDs(), agentID) {
		return nil, fmt.Errorf("agent %q is not configured; configured: %s", agentID, strings.Join(agents.IDs(), ", "))
	}
	runner := agents.RunnerOf(agentID)
	if runner == nil {
		return nil, fmt.Errorf("agent %q has no runner: set agents.list[].runner, or agents.defaults.runner", agentID)
	}
	a, err := r.options.build(runner)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", agentID, err)
	}
	r.made[agentID] = a
	return a, nil
}

func (o *RunnerOptions) build(c *config.Runner) (runner.Runner, error) {
	switch c.Kind {
	case config.RunnerOpenAI:
		return o.openai(c)
	case config.RunnerCommand:
		return o.command(c)
	case config.RunnerScript:
		return scripted(c)
	}
	return nil, fmt.Errorf("there is no kind of runner %q", c.Kind)
}

func (o *RunnerOptions) openai(c *config.Runner) (runner.Runner, error) {
	messages, bytes := history(c)
	return openai.New(&openai.Options{
		BaseURL: c.BaseURL, APIKey: c.APIKey.Reveal(), APIKeyUnset: c.APIKeyUnset, Model: c.Model,
		HistoryMessages: messages, HistoryBytes: bytes,
		Client: o.Client,
	})
}

func (o *RunnerOptions) command(c *config.Runner) (runner.Runner, error) {
	if len(c.EnvUnset) > 0 {
		return nil, fmt.Errorf("the environment variable %s is not set; runner.env needs it", strings.Join(c.EnvUnset, ", "))
	}
	env := make(map[string]string, len(c.Env))
	for name, value := range c.Env {
		env[name] = value.Reveal()
	}
	messages, bytes := history(c)
	return command.New(&command.Options{
		Argv: c.Argv, Dir: c.Dir, Env: env, MaxOutputBytes: c.MaxOutputBytes,
		HistoryMessages: messages, HistoryBytes: bytes,
		Supervisor: o.Supervisor,
	})
}

func scripted(c *config.Runner) (runner.Runner, error) {
	replies := make([]script.Reply, len(c.Replies))
	for i, r := range c.Replies {
		replies[i] = script.Reply{Text: r.Text, After: r.After, Error: r.Error, Tool: r.Tool, Args: r.Args, Usage: r.Usage}
	}
	return script.New(&script.Options{Replies: replies})
}

// history returns how much of the transcript a prompt carries, in the agents' way:
// to them 0 is the default, and none is below it.
func history(c *config.Runner) (messages, bytes int) {
	if c.HistoryMessages == 0 || c.HistoryBytes == 0 {
		return -1, 0
	}
	return c.HistoryMessages, c.HistoryBytes
}
