package config

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// formats are what a text may have to be, by the names in the tags. Each returns the
// text as it is kept, or the problem with it.
var formats = map[string]func(string) (text, problem string){
	"address":      address,
	"agent":        agentID,
	"agentOrAll":   agentOrAll,
	"agentPattern": agentPattern,
	"capability":   capability,
	"channel":      channel,
	"credential":   credential,
	"lower":        func(s string) (string, string) { return strings.ToLower(s), "" },
	"mainKey":      mainKey,
	"owner":        owner,
	"service":      service,
	"toolPattern":  toolPattern,
	"url":          httpURL,
	"variable":     variable,
}

func quoted(s, problem string) (text, quoted string) {
	return "", fmt.Sprintf("%q %s", clip(s), problem)
}

// mainKey refuses a key under which a main session would read as a session of another
// kind, or as none.
func mainKey(s string) (text, problem string) {
	if err := sessionkey.Check(sessionkey.Join(strings.Repeat("a", 64), s)); err != nil {
		return quoted(s, err.Error())
	}
	switch s {
	case sessionkey.Main:
		return s, ""
	case sessionkey.Current, sessionkey.Global, sessionkey.Unknown:
		return quoted(s, "is a reserved word")
	}
	if sessionkey.Shaped(s) {
		return quoted(s, `reads as a key of another kind; write a plain word such as "main"`)
	}
	return s, ""
}

// owner is a sender as <channel>:<senderId>.
func owner(s string) (text, problem string) {
	channel, sender, _ := strings.Cut(s, ":")
	channel, sender = strings.ToLower(strings.TrimSpace(channel)), strings.TrimSpace(sender)
	if channel == "" || sender == "" {
		return quoted(s, `names no sender; write <channel>:<senderId>, such as "telegram:123"`)
	}
	return channel + ":" + sender, ""
}

func agentID(s string) (text, problem string) {
	id, err := sessionkey.AgentID(s)
	if err != nil {
		return quoted(s, err.Error())
	}
	return id, ""
}

func agentOrAll(s string) (text, problem string) {
	if s == "*" {
		return s, ""
	}
	return agentID(s)
}

// agentPattern is an agent id in which * may stand for any run of characters.
func agentPattern(s string) (text, problem string) {
	s = strings.ToLower(s)
	plain := "a" + strings.ReplaceAll(s, "*", "")
	if id, err := sessionkey.AgentID(plain); err != nil || id != plain || len(s) > 64 {
		return quoted(s, "is not a pattern of agent ids; write a-z, 0-9, _ and -, with * for any run of them")
	}
	return s, ""
}

// toolPattern is the name of a tool, in which * may stand for any run of characters.
// Which tools there are depends on the plugin; what could name none of them is a problem,
// because a tool that is denied under a wrong name is not denied.
func toolPattern(s string) (text, problem string) {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-*") != "" {
		return quoted(s, "is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any run of them")
	}
	return s, ""
}

func address(s string) (text, problem string) {
	_, port, err := net.SplitHostPort(s)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return quoted(s, fmt.Sprintf("is not host:port; write one such as %q", DefaultListen))
	}
	return s, ""
}

// httpURL is the address of an HTTP server. The text stays out of the problem: an
// address may hold a password.
func httpURL(s string) (text, problem string) {
	if u, err := url.Parse(s); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", "is not an address such as http://127.0.0.1:9000/path"
	}
	return s, ""
}

// service is the beginning of a service's addresses.
func service(s string) (text, problem string) {
	if s, problem = httpURL(s); strings.ContainsAny(s, "?#") {
		return "", "has a query or fragment; the service's paths are appended to it"
	}
	return s, problem
}

// credential is a secret that is sent in a header or an address.
func credential(s string) (text, problem string) {
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			return "", "has characters that a bearer token cannot have; use visible ASCII without spaces"
		}
	}
	return s, ""
}

func channel(s string) (text, problem string) {
	if s = strings.ToLower(s); s == policy.ChannelInternal || s == policy.ChannelUnknown {
		return "", "is no chat channel; nothing is ever delivered to it"
	}
	return s, ""
}

// variable is the name of an environment variable.
func variable(s string) (text, problem string) {
	for i, c := range []byte(s) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return "", "is no name of an environment variable; one is letters, digits and _, and does not start with a digit"
		}
	}
	if strings.HasPrefix(s, "PARLEY_") {
		return "", "is set by Parley itself; names with PARLEY_ are its own"
	}
	return s, ""
}

// capability is the name of a host function, or of a namespace with all that it has.
func capability(s string) (text, problem string) {
	if len(capabilities(s)) == 0 {
		return quoted(s, "is no host function; there are "+strings.Join(abi.Capabilities, ", "))
	}
	return s, ""
}

// capabilities are the host functions that are meant by a name.
func capabilities(s string) (names []string) {
	namespace, all := strings.CutSuffix(s, ".*")
	for _, name := range abi.Capabilities {
		if name == s || all && strings.HasPrefix(name, namespace+".") {
			names = append(names, name)
		}
	}
	return names
}
