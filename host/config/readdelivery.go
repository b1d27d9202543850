package config

import (
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi/policy"
)

func (d *Delivery) read(r *reader, v value) {
	r.object(v,
		field{"maxAge", r.durationInto(&d.MaxAge)},
		field{"channels", func(v value) { d.readChannels(r, v) }},
	)
}

// durationInto reads how long something is to last.
func (r *reader) durationInto(to *time.Duration) func(value) {
	return func(v value) {
		s, ok := r.text(v)
		if !ok {
			return
		}
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			r.problem(v, `%q is not a time such as "90s", "15m" or "24h"`, clip(s))
			return
		}
		*to = d
	}
}

func (d *Delivery) readChannels(r *reader, v value) {
	d.Channels = map[string]Channel{}
	r.each(v, func(name string, v value) {
		name = strings.ToLower(name)
		if name == policy.ChannelInternal || name == policy.ChannelUnknown {
			r.problem(v, "is no chat channel; nothing is ever delivered to it")
			return
		}
		if _, ok := d.Channels[name]; ok {
			r.problem(v, "is given twice; names of channels are the same in upper and lower case")
			return
		}
		var c Channel
		r.channel(v, &c)
		d.Channels[name] = c
	})
}

func (r *reader) channel(v value, c *Channel) {
	webhook, services := []string{SinkWebhook}, []string{SinkTelegram, SinkSlack, SinkDiscord}
	r.variants(v, "sink", &c.Sink, []string{SinkLog, SinkWebhook, SinkTelegram, SinkSlack, SinkDiscord},
		variant{field{"url", r.urlInto(&c.URL)}, webhook, true},
		variant{field{"secret", func(v value) { c.Secret, c.TokenUnset = r.secret(v) }}, webhook, false},
		variant{field{"token", r.credentialInto(&c.Token, &c.TokenUnset)}, services, true},
		variant{field{"baseUrl", r.baseInto(&c.BaseURL)}, services, false},
	)
}
