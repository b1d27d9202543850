package chat

import (
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/host/config"
)

// command is a message that changes the send policy of its session.
type command struct {
	override string // replaces the send policy in the session; empty: no override
	reply    string
}

// commands maps texts to commands (S8.2).
var commands = map[string]command{
	"/send on":      {policy.Allow, "Messages are sent in this session, whatever the send policy says."},
	"/send off":     {policy.Deny, "Nothing is sent in this session until /send on or /send inherit."},
	"/send inherit": {"", "The send policy decides in this session."},
}

// parseCommand returns the command if the whole text is one, or nil.
func parseCommand(text string) *command {
	if c, ok := commands[strings.ToLower(strings.TrimSpace(text))]; ok {
		return &c
	}
	return nil
}

// IsOwner reports whether the sender on the channel is one of session.owners (S8.2).
func IsOwner(c *config.Config, channel, from string) bool {
	return slices.Contains(c.Session.Owners, strings.ToLower(channel)+":"+from)
}
