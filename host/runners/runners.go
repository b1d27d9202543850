// Package runners makes the agents that the configuration describes: an agent's
// own runner, or that of agents.defaults.
//
// An agent is made when its first run asks for it, and kept until the
// configuration changes; a run that has begun keeps the one that it has. So a
// runner that cannot work, because a variable of its environment is not set, fails
// the runs of its own agent and nothing else. One without its key is tried: local
// endpoints want none, and others say so.
package runners

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/run/agent"
	"github.com/parley-wasm/parley/host/run/agent/command"
	"github.com/parley-wasm/parley/host/run/agent/openai"
	"github.com/parley-wasm/parley/host/run/agent/script"
)

// Options say what agents work with besides their configuration.
type Options struct {
	// Supervisor starts the supervisor of command agents, see command.Options;
	// empty: this executable with the argument "runner-exec".
	Supervisor []string
	// Client asks the endpoints of openai agents; nil: http.DefaultClient.
	Client *http.Client
}

// Runners are the agents of one configuration at a time. It is safe for
// concurrent use and needs no closing.
type Runners struct {
	options Options

	mu     sync.Mutex
	config *config.Config
	made   map[string]agent.Agent // by agent id
}

// New returns the agents of a configuration. It makes none yet.
func New(c *config.Config, o *Options) *Runners {
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
	r.config, r.made = c, map[string]agent.Agent{}
}

// Agent returns what executes the runs of an agent. Its error says what the
// configuration lacks.
func (r *Runners) Agent(agentID string) (agent.Agent, error) {
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

func (o *Options) build(c *config.Runner) (agent.Agent, error) {
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

func (o *Options) openai(c *config.Runner) (agent.Agent, error) {
	messages, bytes := history(c)
	return openai.New(&openai.Options{
		BaseURL: c.BaseURL, APIKey: c.APIKey.Reveal(), APIKeyUnset: c.APIKeyUnset, Model: c.Model,
		HistoryMessages: messages, HistoryBytes: bytes,
		Client: o.Client,
	})
}

func (o *Options) command(c *config.Runner) (agent.Agent, error) {
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

func scripted(c *config.Runner) (agent.Agent, error) {
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
