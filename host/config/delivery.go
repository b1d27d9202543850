package config

import "time"

// Delivery is how texts reach chat channels.
type Delivery struct {
	MaxAge   time.Duration      // from when on a delivery that fails is given up (S10.3)
	Channels map[string]Channel // by channel
}

// Kinds of sinks.
const (
	SinkLog      = "log"
	SinkWebhook  = "webhook"
	SinkTelegram = "telegram"
	SinkSlack    = "slack"
	SinkDiscord  = "discord"
)

// Channel is the sink of one chat channel. Which fields count depends on Sink.
type Channel struct {
	Sink       string
	URL        string // webhook
	Secret     Secret // webhook: of the signature; empty: none
	Token      Secret // telegram, slack, discord
	TokenUnset string // the environment variable that should hold the token or secret, if it is not set
	BaseURL    string // telegram, slack, discord; empty: the service's own
}
