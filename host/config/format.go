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

// formats maps the names used in tags to the functions that check a text. Each returns
// the normalized text, or a description of the problem.
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

// mainKey refuses a text that would make the keys of main sessions invalid or turn them
// into keys of another kind of session.
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
	if sessionkey.HasKeyForm(s) {
		return quoted(s, `is the key of another kind of session; write a plain word such as "main"`)
	}
	return s, ""
}

// owner accepts a sender, written as <channel>:<senderId>.
func owner(s string) (text, problem string) {
	channel, sender, _ := strings.Cut(s, ":")
	channel, sender = strings.ToLower(strings.TrimSpace(channel)), strings.TrimSpace(sender)
	if channel == "" || sender == "" {
		return quoted(s, `does not name a sender; write <channel>:<senderId>, such as "telegram:123"`)
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

// agentPattern accepts an agent id in which * matches any sequence of characters.
func agentPattern(s string) (text, problem string) {
	s = strings.ToLower(s)
	plain := "a" + strings.ReplaceAll(s, "*", "")
	if id, err := sessionkey.AgentID(plain); err != nil || id != plain || len(s) > 64 {
		return quoted(s, "is not a pattern of agent ids; write a-z, 0-9, _ and -, with * for any sequence of them")
	}
	return s, ""
}

// toolPattern accepts the name of a tool, in which * matches any sequence of characters. The
// set of tools depends on the plugin, but toolPattern refuses a text that cannot match any
// name: a deny list with a mistyped name would not deny the tool.
func toolPattern(s string) (text, problem string) {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-*") != "" {
		return quoted(s, "is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any sequence of them")
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

// httpURL accepts an HTTP URL. The problem does not quote it: a URL may contain a
// password.
func httpURL(s string) (text, problem string) {
	if u, err := url.Parse(s); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", "is not a URL such as http://127.0.0.1:9000/path"
	}
	return s, ""
}

// service accepts the base URL of a service.
func service(s string) (text, problem string) {
	if s, problem = httpURL(s); strings.ContainsAny(s, "?#") {
		return "", "has a query or fragment; the service's paths are appended to it"
	}
	return s, problem
}

// credential accepts a secret that can be part of a header or a URL.
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
		return "", "is not a chat channel; nothing is delivered to it"
	}
	return s, ""
}

// variable accepts the name of an environment variable that Parley does not set itself.
func variable(s string) (text, problem string) {
	for i, c := range []byte(s) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return "", "is not a valid name of an environment variable; use letters, digits and _, and do not start with a digit"
		}
	}
	if strings.HasPrefix(s, "PARLEY_") {
		return "", "is reserved; choose a name that does not begin with PARLEY_"
	}
	return s, ""
}

// capability accepts the name of a host function, or a namespace followed by ".*".
func capability(s string) (text, problem string) {
	if len(capabilities(s)) == 0 {
		return quoted(s, "is not a host function; known: "+strings.Join(abi.Capabilities, ", "))
	}
	return s, ""
}

// capabilities returns the host functions that match a name or a namespace.
func capabilities(s string) (names []string) {
	namespace, all := strings.CutSuffix(s, ".*")
	for _, name := range abi.Capabilities {
		if name == s || all && strings.HasPrefix(name, namespace+".") {
			names = append(names, name)
		}
	}
	return names
}
