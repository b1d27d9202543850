package config

// SendPolicy decides where messages may enter and leave (S8.1).
type SendPolicy struct {
	Rules   []PolicyRule
	Default string // PolicyAllow or PolicyDeny
}

// Actions of a send policy.
const (
	PolicyAllow = "allow"
	PolicyDeny  = "deny"
)

// Types of chat that a rule may match.
const (
	ChatDirect  = "direct"
	ChatGroup   = "group"
	ChatChannel = "channel"
)

// PolicyRule is one rule; all members that are set must match.
type PolicyRule struct {
	Channel   string // lower-cased
	ChatType  string // ChatDirect, ChatGroup or ChatChannel
	KeyPrefix string
	Action    string // PolicyAllow or PolicyDeny
}
