package delivery

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/delivery/discord"
	"github.com/parley-wasm/parley/host/internal/delivery/log"
	"github.com/parley-wasm/parley/host/internal/delivery/slack"
	"github.com/parley-wasm/parley/host/internal/delivery/telegram"
	"github.com/parley-wasm/parley/host/internal/delivery/webhook"
	"github.com/parley-wasm/parley/host/sink"
)

// SinkOptions say what sinks work with besides their configuration.
type SinkOptions struct {
	// Log gets what log sinks write, one JSON object a line; nil: Logger does.
	Log io.Writer
	// Logger; nil: slog.Default().
	Logger *slog.Logger
	// Transport makes the requests of all other sinks; nil: each has its own.
	Transport http.RoundTripper
}

// Sinks are the sinks of one configuration at a time (delivery.channels). It is safe
// for concurrent use and needs no closing.
//
// A sink is made when the first text for its channel asks for it, and kept as long as
// the channel's settings stay as they are: it may know which parts of a long text have
// been posted already. So a sink that cannot work, because a variable with its token
// is not set, fails the deliveries to its own channel and nothing else.
type Sinks struct {
	options SinkOptions
	log     *log.Sink // of all channels: they write to one place

	mu       sync.Mutex
	channels map[string]config.Channel
	made     map[string]sink.Sink // by channel
}

// NewSinks returns the sinks of a configuration. It makes none yet.
func NewSinks(c *config.Config, o *SinkOptions) *Sinks {
	s := &Sinks{made: map[string]sink.Sink{}}
	if o != nil {
		s.options = *o
	}
	s.log = log.New(&log.Options{Writer: s.options.Log, Logger: s.options.Logger})
	s.Configure(c)
	return s
}

// Configure puts another configuration in force, for every post that begins from
// now.
func (s *Sinks) Configure(c *config.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.made {
		if s.channels[name] != c.Delivery.Channels[name] {
			delete(s.made, name)
		}
	}
	s.channels = c.Delivery.Channels
}

// Sink returns what posts to a channel. Its error says what the configuration
// lacks.
func (s *Sinks) Sink(channel string) (sink.Sink, error) {
	name := strings.ToLower(channel)
	s.mu.Lock()
	defer s.mu.Unlock()
	if sink, ok := s.made[name]; ok {
		return sink, nil
	}
	c, ok := s.channels[name]
	if !ok {
		return nil, fmt.Errorf("channel %q has no sink: set delivery.channels.%[1]s", name)
	}
	sink, err := s.build(&c)
	if err != nil {
		return nil, fmt.Errorf("delivery.channels.%s: %w", name, err)
	}
	s.made[name] = sink
	return sink, nil
}

func (s *Sinks) build(c *config.Channel) (sink.Sink, error) {
	if c.TokenUnset != "" {
		return nil, fmt.Errorf("the environment variable %s is not set, which holds its token or secret", c.TokenUnset)
	}
	transport := s.options.Transport
	switch c.Sink {
	case config.SinkLog:
		return s.log, nil
	case config.SinkWebhook:
		return webhook.New(&webhook.Options{URL: c.URL, Secret: c.Secret.Reveal(), Transport: transport})
	case config.SinkTelegram:
		return telegram.New(&telegram.Options{Token: c.Token.Reveal(), BaseURL: c.BaseURL, Transport: transport})
	case config.SinkSlack:
		return slack.New(&slack.Options{Token: c.Token.Reveal(), BaseURL: c.BaseURL, Transport: transport})
	case config.SinkDiscord:
		return discord.New(&discord.Options{Token: c.Token.Reveal(), BaseURL: c.BaseURL, Transport: transport})
	}
	return nil, fmt.Errorf("there is no sink %q", c.Sink)
}
