package config

import "time"

// Delivery is how texts reach chat channels.
type Delivery struct {
	MaxAge   time.Duration      `config:"maxAge"`                   // from when on a delivery that fails is given up (S10.3)
	Channels map[string]Channel `config:"channels" names:"channel"` // by channel
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
	Sink   string `config:"sink" oneOf:"log webhook telegram slack discord" missing:"has no sink; it is one of log, webhook, telegram, slack, discord"`
	URL    string `config:"url" needed:"webhook" format:"url"`
	Secret Secret `config:"secret" for:"webhook" unset:"TokenUnset"` // of the signature; empty: none
	Token  Secret `config:"token" needed:"telegram slack discord" format:"credential" unset:"TokenUnset"`
	// TokenUnset is the environment variable that should hold the token or secret, if it is not set.
	TokenUnset string
	BaseURL    string `config:"baseUrl" for:"telegram slack discord" format:"service"` // empty: the service's own
}
