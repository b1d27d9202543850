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

// RunnerOptions configures the runners beyond the configuration file.
type RunnerOptions struct {
	// Supervisor is the command that starts the supervisor of command runners; see
	// command.Options. Empty: this executable with the argument "runner-exec".
	Supervisor []string
	// Client is the HTTP client of openai runners; nil: http.DefaultClient.
	Client *http.Client
}

// Runners provides the runners of the active configuration: an agent's own runner, or
// the runner of agents.defaults. It is safe for concurrent use and needs no Close.
//
// A runner is created for the first run of its agent and reused until the
// configuration changes. An active run keeps its runner. If a runner cannot be
// created, for example because an environment variable is not set, only the runs of
// its agent fail. An openai runner may have no key: local endpoints need no key, and
// others report that it is missing.
type Runners struct {
	options RunnerOptions

	mu     sync.Mutex
	config *config.Config
	cache  map[string]runner.Runner // by agent id
}

// NewRunners returns the Runners of a configuration. It creates no runner.
func NewRunners(c *config.Config, o *RunnerOptions) *Runners {
	r := &Runners{}
	if o != nil {
		r.options = *o
		r.options.Supervisor = slices.Clone(o.Supervisor)
	}
	r.Configure(c)
	return r
}

// Configure activates another configuration for all runs that begin after the call.
func (r *Runners) Configure(c *config.Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.config, r.cache = c, map[string]runner.Runner{}
}

// Runner returns the runner of an agent. Its error states what the configuration
// lacks.
func (r *Runners) Runner(agentID string) (runner.Runner, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.cache[agentID]; ok {
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
	r.cache[agentID] = a
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
	return nil, fmt.Errorf("unknown kind of runner %q", c.Kind)
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

// history returns the limits of the transcript in a prompt, for the runners' options.
// In the configuration 0 means no history; in the options 0 means the default and a
// negative number means no history.
func history(c *config.Runner) (messages, bytes int) {
	if c.HistoryMessages == 0 || c.HistoryBytes == 0 {
		return -1, 0
	}
	return c.HistoryMessages, c.HistoryBytes
}
