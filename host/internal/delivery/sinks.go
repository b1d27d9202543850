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

// SinkOptions are the settings of sinks that the configuration does not contain.
type SinkOptions struct {
	// Log receives the messages of log sinks, one JSON object per line; nil: they are
	// written to Logger.
	Log io.Writer
	// Logger; nil: slog.Default().
	Logger *slog.Logger
	// Transport executes the requests of all other sinks; nil: each has its own.
	Transport http.RoundTripper
}

// Sinks provides the sinks of a configuration (delivery.channels). Configure replaces
// the configuration. Sinks is safe for concurrent use and needs no closing.
//
// A sink is created for the first delivery to its channel. So a sink that cannot be
// created, for example because the variable with its token is not set, fails only the
// deliveries to its own channel. A sink is kept until its channel's settings change,
// because it may remember which parts of a long text it has posted.
type Sinks struct {
	options SinkOptions
	log     *log.Sink // shared by all channels, which write to one output

	mu       sync.Mutex
	channels map[string]config.Channel
	built    map[string]sink.Sink // by channel
}

// NewSinks returns the sinks of a configuration. It does not create any sink yet.
func NewSinks(c *config.Config, o *SinkOptions) *Sinks {
	s := &Sinks{built: map[string]sink.Sink{}}
	if o != nil {
		s.options = *o
	}
	s.log = log.New(&log.Options{Writer: s.options.Log, Logger: s.options.Logger})
	s.Configure(c)
	return s
}

// Configure replaces the configuration. It applies to all later posts.
func (s *Sinks) Configure(c *config.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.built {
		if s.channels[name] != c.Delivery.Channels[name] {
			delete(s.built, name)
		}
	}
	s.channels = c.Delivery.Channels
}

// Sink returns the sink of a channel. Its error names the missing or invalid setting.
func (s *Sinks) Sink(channel string) (sink.Sink, error) {
	name := strings.ToLower(channel)
	s.mu.Lock()
	defer s.mu.Unlock()
	if sink, ok := s.built[name]; ok {
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
	s.built[name] = sink
	return sink, nil
}

func (s *Sinks) build(c *config.Channel) (sink.Sink, error) {
	if c.TokenUnset != "" {
		return nil, fmt.Errorf("the environment variable %s for the token or secret is not set", c.TokenUnset)
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
	return nil, fmt.Errorf("unknown sink %q", c.Sink)
}
