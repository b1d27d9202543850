package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config/internal/document"
)

// Defaults of runners.
const (
	DefaultMaxOutputBytes  = 1 << 20
	DefaultHistoryMessages = 50
	DefaultHistoryBytes    = 256 << 10
)

// maxBytes bounds what is kept in memory of a program's output or a transcript.
const maxBytes = 1 << 30

// maxAfter is a day, in milliseconds.
const maxAfter = 24 * 60 * 60 * 1000

func (r *reader) runnerInto(to **Runner) func(value) {
	var (
		openai  = []string{RunnerOpenAI}
		command = []string{RunnerCommand}
		script  = []string{RunnerScript}
		prompts = []string{RunnerOpenAI, RunnerCommand}
	)
	return func(v value) {
		n := &Runner{}
		n.MaxOutputBytes, n.HistoryMessages, n.HistoryBytes = DefaultMaxOutputBytes, DefaultHistoryMessages, DefaultHistoryBytes
		known := r.variants(v, "kind", &n.Kind, []string{RunnerOpenAI, RunnerCommand, RunnerScript},
			variant{field{"baseUrl", r.baseInto(&n.BaseURL)}, openai, true},
			variant{field{"apiKey", r.credentialInto(&n.APIKey, &n.APIKeyUnset)}, openai, false},
			variant{field{"model", r.textInto(&n.Model)}, openai, false},
			variant{field{"argv", func(v value) { n.Argv = r.argv(v) }}, command, true},
			variant{field{"dir", r.textInto(&n.Dir)}, command, false},
			variant{field{"env", func(v value) { n.readEnv(r, v) }}, command, false},
			variant{field{"maxOutputBytes", r.intInto(&n.MaxOutputBytes, 1, maxBytes)}, command, false},
			variant{field{"historyMessages", r.intInto(&n.HistoryMessages, 0, 1000)}, prompts, false},
			variant{field{"historyBytes", r.intInto(&n.HistoryBytes, 0, maxBytes)}, prompts, false},
			variant{field{"replies", func(v value) { n.Replies = r.replies(v) }}, script, true},
		)
		if !known {
			return
		}
		if n.Kind != RunnerCommand {
			n.MaxOutputBytes = 0
		}
		if n.Kind == RunnerScript {
			n.HistoryMessages, n.HistoryBytes = 0, 0
		}
		*to = n
	}
}

// urlInto reads the address of an HTTP server.
func (r *reader) urlInto(to *string) func(value) {
	return func(v value) {
		s, ok := r.text(v)
		if !ok {
			return
		}
		// The text stays out of the message: an address may hold a password.
		if u, err := url.Parse(s); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			r.problem(v, "is not an address such as http://127.0.0.1:9000/path")
			return
		}
		*to = s
	}
}

// baseInto reads the beginning of a service's addresses.
func (r *reader) baseInto(to *string) func(value) {
	return func(v value) {
		if r.urlInto(to)(v); strings.ContainsAny(*to, "?#") {
			r.problem(v, "has a query or fragment; the service's paths are appended to it")
		}
	}
}

// credentialInto reads a secret that is sent in a header or an address.
func (r *reader) credentialInto(to *Secret, unset *string) func(value) {
	return func(v value) {
		s, missing := r.secret(v)
		if *unset = missing; r.usable(v, s) {
			*to = s
		}
	}
}

// exact reads a text as it is: blanks count.
func (r *reader) exact(v value) (string, bool) {
	if !r.wants(v, document.String) {
		return "", false
	}
	if strings.ContainsRune(v.node.String, 0) {
		r.problem(v, "contains a NUL character")
		return "", false
	}
	return v.node.String, true
}

func (r *reader) argv(v value) (argv []string) {
	r.list(v, func(v value) {
		if s, ok := r.exact(v); ok {
			argv = append(argv, s)
		}
	})
	if v.node.Kind == document.Array && len(v.node.Items) == 0 {
		r.problem(v, `names no program; write one such as ["claude", "-p"]`)
	} else if len(argv) > 0 && strings.TrimSpace(argv[0]) == "" {
		r.problem(v.item(0), "names no program")
	}
	return argv
}

func (n *Runner) readEnv(r *reader, v value) {
	n.Env = map[string]Secret{}
	r.each(v, func(name string, v value) {
		if !isVariable(name) {
			r.problem(v, "is no name of an environment variable; one is letters, digits and _, and does not start with a digit")
			return
		}
		if strings.HasPrefix(name, "PARLEY_") {
			r.problem(v, "is set by Parley itself; names with PARLEY_ are its own")
			return
		}
		if v.node.Kind == document.String {
			s, _ := r.exact(v)
			n.Env[name] = Secret(s)
			return
		}
		s, unset := r.secret(v)
		if unset != "" {
			n.EnvUnset = append(n.EnvUnset, unset)
			return
		}
		n.Env[name] = s
	})
	slices.Sort(n.EnvUnset)
	n.EnvUnset = slices.Compact(n.EnvUnset)
}

func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func (r *reader) replies(v value) (replies []Reply) {
	r.list(v, func(v value) { replies = append(replies, r.reply(v)) })
	if v.node.Kind == document.Array && len(v.node.Items) == 0 {
		r.problem(v, "is empty; give it at least one reply")
	}
	return replies
}

func (r *reader) reply(v value) (reply Reply) {
	text := func(v value) { reply.Text, _ = r.exact(v) }
	if v.node.Kind == document.String {
		text(v)
		return reply
	}
	if v.node.Kind != document.Object {
		r.problem(v, "is %s; it must be a string, or {text, afterMs, error, tool, args, usage}", v.node.Kind)
		return reply
	}
	var after int
	found := r.object(v,
		field{"text", text},
		field{"afterMs", r.intInto(&after, 0, maxAfter)},
		field{"error", r.textInto(&reply.Error)},
		field{"tool", r.textInto(&reply.Tool)},
		field{"args", func(v value) {
			if r.wants(v, document.Object) {
				reply.Args = r.json(nil, v)
			}
		}},
		field{"usage", r.usageInto(&reply.Usage)},
	)
	reply.After = time.Duration(after) * time.Millisecond
	_, hasText := found["text"]
	failure, fails := found["error"]
	if fails && hasText {
		r.problem(failure, "is given beside a text; a reply is one or the other")
	}
	if usage, ok := found["usage"]; ok && fails {
		r.problem(usage, "is given beside an error; only an answer has one")
	}
	if args, ok := found["args"]; ok && reply.Tool == "" {
		r.problem(args, "is given without a tool")
	}
	return reply
}

// maxTokens bounds a count of tokens.
const maxTokens = 1_000_000_000

// usageInto reads what an answer is said to have taken; a count that is not given
// is not known.
func (r *reader) usageInto(to **abi.Usage) func(value) {
	return func(v value) {
		u := &abi.Usage{}
		count := func(to **int64) func(value) {
			return func(v value) {
				n := -1
				if r.intInto(&n, 0, maxTokens)(v); n >= 0 {
					tokens := int64(n)
					*to = &tokens
				}
			}
		}
		found := r.object(v, field{"input", count(&u.Input)}, field{"output", count(&u.Output)})
		if found != nil && len(found) == 0 {
			r.problem(v, "is empty; give it input, output or both")
		}
		*to = u
	}
}
