package discord

import (
	"net/http"

	"github.com/parley-wasm/parley/host/internal/delivery/post"
	"github.com/parley-wasm/parley/host/sink"
)

// transient are the codes of temporary errors, regardless of their HTTP status.
var transient = map[int]bool{
	20016:  true, // slow mode
	20028:  true, // write rate of the channel
	20029:  true, // write rate of the server
	40062:  true, // a service is rate limited
	130000: true, // overloaded
}

// advice contains the cause or remedy of errors that a user can fix.
var advice = map[int]string{
	10003: "check the channel's id",
	50001: "the bot is not in that server or cannot see the channel",
	50013: "give the bot the permission to send messages there",
	50007: "this user does not accept messages from the bot",
	50083: "the thread is archived",
}

// refusal returns the error for an answer that refuses a message.
func (s *Sink) refusal(a *post.Answer, r *response) error {
	if r.Message == "" {
		r.Message = s.client.Excerpt(a)
	}
	why := s.client.Clip(r.Message)
	if hint := advice[r.Code]; hint != "" {
		why += ": " + hint
	}
	err := s.client.Errorf("refused with %d, code %d: %s", a.Status, r.Code, why)
	if a.Status == http.StatusTooManyRequests || transient[r.Code] {
		// retry_after in the body is more precise than the header Retry-After.
		if after, ok := post.Seconds(r.RetryAfter); ok && after > 0 {
			return &sink.Later{After: after, Err: err}
		}
		return a.Later(err)
	}
	return a.Classify(err)
}
