package slack

import (
	"github.com/parley-wasm/parley/host/internal/delivery/post"
	"github.com/parley-wasm/parley/host/sink"
)

// transient are Slack's temporary errors. All others are permanent.
var transient = map[string]bool{
	"ratelimited":         true,
	"rate_limited":        true,
	"internal_error":      true,
	"fatal_error":         true,
	"service_unavailable": true,
	"request_timeout":     true,
	"team_added_to_org":   true, // the workspace is being moved
}

// advice contains the cause or remedy of errors that a user can fix.
var advice = map[string]string{
	"not_in_channel":    "invite the app to the channel",
	"channel_not_found": "check the channel's id, and that the app was invited",
	"is_archived":       "the channel is archived",
	"invalid_auth":      "check the token",
	"not_authed":        "check the token",
	"token_revoked":     "the token was revoked; install the app again",
	"account_inactive":  "the token's account no longer exists; install the app again",
	"missing_scope":     "give the app the scope chat:write",
	"thread_not_found":  "check the thread's id",
}

// refusal returns the error for Slack's error name.
func (s *Sink) refusal(a *post.Answer, name string) error {
	err := s.client.Errorf("refused: %s", s.client.Clip(name))
	if hint := advice[name]; hint != "" {
		err = s.client.Errorf("refused: %s: %s", name, hint)
	}
	switch {
	case transient[name]:
		return a.Later(err)
	case a.OK():
		return &sink.Permanent{Err: err}
	}
	return a.Classify(err)
}
