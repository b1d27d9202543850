package config

import "time"

// Delivery holds the sinks of chat channels and the age limit of deliveries.
type Delivery struct {
	MaxAge   time.Duration      `config:"maxAge"`                   // a delivery that still fails at this age is not tried again (S10.3)
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

// Channel configures the sink of one chat channel. Sink determines which fields apply.
type Channel struct {
	Sink   string `config:"sink" oneOf:"log webhook telegram slack discord" missing:"has no sink; it is one of log, webhook, telegram, slack, discord"`
	URL    string `config:"url" needed:"webhook" format:"url"`
	Secret Secret `config:"secret" for:"webhook" unset:"TokenUnset"` // signs the requests; empty: no signature
	Token  Secret `config:"token" needed:"telegram slack discord" format:"credential" unset:"TokenUnset"`
	// TokenUnset is the name of the token's or secret's environment variable if the variable
	// is not set.
	TokenUnset string
	BaseURL    string `config:"baseUrl" for:"telegram slack discord" format:"service"` // empty: the service's public URL
}
