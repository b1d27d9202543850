package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type badFile struct {
	name, text string
	want       []string
}

// problems are bad files with everything that is said of them.
var problems = []badFile{
	{"no JSON5", "{\n  session: {\n", []string{"f:3:1: not valid JSON5: unexpected end of input"}},
	{"empty", "", []string{"f:1:1: not valid JSON5: unexpected end of input"}},
	{"no object", "[]", []string{"f:1:1: is an array; it must be an object"}},
	{"wrong kinds", `{session: 1, tools: [], agents: null, gateway: "x", store: true, plugins: {limits: 1e400}}`,
		[]string{"f:1:89: not valid JSON5: invalid number: 1e400"}},
	{"wrong kinds, all at once", `{session: 1, tools: [], agents: null, gateway: "x", store: true, plugins: {limits: 1}}`, []string{
		"f:1:11: session: is a number; it must be an object",
		"f:1:21: tools: is an array; it must be an object",
		"f:1:33: agents: is null; it must be an object",
		"f:1:48: gateway: is a string; it must be an object",
		"f:1:60: store: is a boolean; it must be an object",
		"f:1:84: plugins.limits: is a number; it must be an object",
	}},
	{"unknown names", "{\n  sesion: {},\n  tools: {sessions: {visibilty: 'all'}},\n  agents: {list: [{id: 'a', memory: {}}]},\n}", []string{
		"f:2:3: sesion: is an unknown name, or a setting that this version does not know; known here: session, tools, agents, models, gateway, delivery, runs, store, plugins",
		"f:3:22: tools.sessions.visibilty: is an unknown name, or a setting that this version does not know; known here: visibility",
		"f:4:29: agents.list[0].memory: is an unknown name, or a setting that this version does not know; known here: id, default, name, model, sandbox, runner, subagents",
	}},
	{"sending and spawning", "{session: {agentToAgent: {maxPingPongTurns: -1}, announce: {locale: 'de'}},\nagents: {defaults: {subagents: {archiveAfterMinutes: -1, maxConcurrent: 0, maxChildrenPerAgent: 0.5, model: ''}}},\ntools: {subagents: {tools: {allow: 'x', deny: [1]}}}, models: {allow: {}}}", []string{
		"f:1:45: session.agentToAgent.maxPingPongTurns: is -1; it must be a whole number from 0 to 2147483647",
		`f:1:69: session.announce.locale: "de" is not one of en, pt`,
		"f:2:54: agents.defaults.subagents.archiveAfterMinutes: is -1; it must be a whole number from 0 to 52704000",
		"f:2:73: agents.defaults.subagents.maxConcurrent: is 0; it must be a whole number from 1 to 1000",
		"f:2:97: agents.defaults.subagents.maxChildrenPerAgent: is 0.5; it must be a whole number from 1 to 1000",
		"f:2:109: agents.defaults.subagents.model: is blank; leave it out, or give it a value",
		"f:3:36: tools.subagents.tools.allow: is a string; it must be an array",
		"f:3:48: tools.subagents.tools.deny[0]: is a number; it must be a string",
		"f:3:71: models.allow: is an object; it must be an array",
	}},
	{"wrong case", "{Session: {}, tools: {agenttoagent: {}}}", []string{
		"f:1:2: Session: is an unknown name; did you mean session?",
		"f:1:23: tools.agenttoagent: is an unknown name; did you mean agentToAgent?",
	}},
	{"given twice", "{session: {scope: 'global'},\n 'session': {scope: 'per-sender'}, store: {path: 'a',\n path: 'b'}}", []string{
		"f:2:2: session: is given twice; the first is on line 1",
		"f:3:2: store.path: is given twice; the first is on line 2",
	}},
	{"words", "{session: {scope: 'Global'}, tools: {sessions: {visibility: 'tre'}, agentToAgent: {enabled: 'yes'}}, agents: {defaults: {sandbox: {sessionToolsVisibility: ' '}}}}", []string{
		`f:1:19: session.scope: "Global" is not one of per-sender, global`,
		`f:1:61: tools.sessions.visibility: "tre" is not one of self, tree, agent, all`,
		"f:1:93: tools.agentToAgent.enabled: is a string; it must be a boolean",
		"f:1:156: agents.defaults.sandbox.sessionToolsVisibility: is blank; leave it out, or give it a value",
	}},
	{"main keys", "{session: {mainKey: 'cron:x'}}", []string{`f:1:21: session.mainKey: "cron:x" reads as a key of another kind; write a plain word such as "main"`}},
	{"reserved main key", "{session: {mainKey: 'global'}}", []string{`f:1:21: session.mainKey: "global" is a reserved word`}},
	{"main key with a line end", `{session: {mainKey: 'a\nb'}}`, []string{`f:1:21: session.mainKey: "a\nb" contains control characters`}},
	{"long main key", "{session: {mainKey: '" + strings.Repeat("é", 300) + "'}}",
		[]string{`f:1:21: session.mainKey: "` + strings.Repeat("é", 30) + `…" is longer than 512 bytes`}},
	{"patterns", "{tools: {agentToAgent: {allow: ['a b', 1, '', '*', 'x-*']}}}", []string{
		`f:1:33: tools.agentToAgent.allow[0]: "a b" is not a pattern of agent ids; write a-z, 0-9, _ and -, with * for any run of them`,
		"f:1:40: tools.agentToAgent.allow[1]: is a number; it must be a string",
		"f:1:43: tools.agentToAgent.allow[2]: is blank; leave it out, or give it a value",
	}},
	{"tools of children", "{tools: {subagents: {tools: {\nallow: ['sessions_*', 'Exec', '', '-'],\ndeny: ['*', 'group:fs', 'a b', 'exec?', 'é']}}}}", []string{
		`f:2:23: tools.subagents.tools.allow[1]: "Exec" is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any run of them`,
		"f:2:31: tools.subagents.tools.allow[2]: is blank; leave it out, or give it a value",
		`f:3:13: tools.subagents.tools.deny[1]: "group:fs" is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any run of them`,
		`f:3:25: tools.subagents.tools.deny[2]: "a b" is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any run of them`,
		`f:3:32: tools.subagents.tools.deny[3]: "exec?" is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any run of them`,
		`f:3:41: tools.subagents.tools.deny[4]: "é" is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any run of them`,
	}},
	{"agents", "{agents: {list: [\n{id: 'a b'},\n{name: 'x'},\n{id: 'Main', default: true},\n{id: 'main'},\n{id: 'ops', default: true},\n'x',\n{id: 'q', subagents: {allowAgents: ['ops', 'nobody', '-', '*']}}],\n defaults: {subagents: {allowAgents: ['other']}}}}", []string{
		`f:2:6: agents.list[0].id: "a b" has an invalid agent id; one is 1 to 64 of a-z, 0-9, _ and -, and starts with a letter or digit`,
		`f:3:1: agents.list[1]: has no id; give the agent one, such as id: "main"`,
		`f:5:1: agents.list[3]: has the id "main", which agents.list[2] has already`,
		"f:6:1: agents.list[4]: is a second default; agents.list[2] is one already",
		"f:7:1: agents.list[5]: is a string; it must be an object",
		`f:8:44: agents.list[6].subagents.allowAgents[1]: "nobody" is not a configured agent; configured: main, ops, q`,
		`f:8:54: agents.list[6].subagents.allowAgents[2]: "-" has an invalid agent id; one is 1 to 64 of a-z, 0-9, _ and -, and starts with a letter or digit`,
		`f:9:39: agents.defaults.subagents.allowAgents[0]: "other" is not a configured agent; configured: main, ops, q`,
	}},
	{"listen", "{gateway: {listen: '8484'}}", []string{`f:1:20: gateway.listen: "8484" is not host:port; write one such as "127.0.0.1:8484"`}},
	{"listen port", "{gateway: {listen: 'localhost:http'}}", []string{`f:1:20: gateway.listen: "localhost:http" is not host:port; write one such as "127.0.0.1:8484"`}},
	{"tokens", "{gateway: {tokens: [\n{operator: true},\n{token: 'a'},\n{token: 'b', operator: true, caller: {sessionKey: 'main'}},\n{token: 'c', caller: {}},\n{token: 'd e', operator: true},\n{token: {}, operator: true},\n{token: {env: 'PARLEY_CONFIG_TEST_UNSET'}, operator: true},\n{token: 5, operator: true},\n{token: 'a', operator: true},\n{token: 'f', operator: false}]}}", []string{
		"f:2:1: gateway.tokens[0]: has no token; give it as text or as {env: NAME}",
		"f:3:1: gateway.tokens[1]: stands for nobody, or for two; give it either operator: true or a caller",
		"f:4:1: gateway.tokens[2]: stands for nobody, or for two; give it either operator: true or a caller",
		"f:5:22: gateway.tokens[3].caller: has no sessionKey; name the session that the token stands for",
		"f:6:9: gateway.tokens[4].token: has characters that a bearer token cannot have; use visible ASCII without spaces",
		"f:7:9: gateway.tokens[5].token: names no environment variable; write {env: NAME}",
		"f:9:9: gateway.tokens[7].token: is a number; it must be a string, or {env: NAME}",
		"f:10:1: gateway.tokens[8]: has the same token as gateway.tokens[1]; each needs its own",
		"f:11:1: gateway.tokens[9]: stands for nobody, or for two; give it either operator: true or a caller",
	}},
	{"callers", "{gateway: {tokens: [\n{token: 'a', caller: {sessionKey: 'current'}},\n{token: 'b', caller: {sessionKey: 'agent:A B:main'}},\n{token: 'c', caller: {sessionKey: 'agent:x:main', agentId: 'y'}},\n{token: 'd', caller: {sessionKey: 'main', agentId: '../x'}},\n{token: 'e', caller: {sessionKey: 'global'}}]}}", []string{
		`f:2:35: gateway.tokens[0].caller.sessionKey: "current" is a reserved word, not a session key`,
		`f:3:35: gateway.tokens[1].caller.sessionKey: "agent:A B:main" has an invalid agent id; one is 1 to 64 of a-z, 0-9, _ and -, and starts with a letter or digit`,
		`f:4:35: gateway.tokens[2].caller.sessionKey: is a session of agent "x", but agentId is "y"; leave agentId out`,
		`f:5:52: gateway.tokens[3].caller.agentId: "../x" has an invalid agent id; one is 1 to 64 of a-z, 0-9, _ and -, and starts with a letter or digit`,
		`f:6:35: gateway.tokens[4].caller.sessionKey: "global" is a reserved word, not a session key`,
	}},
	{"limits", "{plugins: {limits: {memoryMiB: 0, stepTimeoutMs: 2.5}}}", []string{
		"f:1:32: plugins.limits.memoryMiB: is 0; it must be a whole number from 1 to 4095",
		"f:1:50: plugins.limits.stepTimeoutMs: is 2.5; it must be a whole number from 1 to 600000",
	}},
	{"numbers that are none", "{plugins: {limits: {memoryMiB: NaN, stepTimeoutMs: -Infinity}}}", []string{
		"f:1:32: plugins.limits.memoryMiB: is NaN; it must be a whole number from 1 to 4095",
		"f:1:52: plugins.limits.stepTimeoutMs: is -Inf; it must be a whole number from 1 to 600000",
	}},
	{"secrets stay out of messages", "{gateway: {tokens: [{token: 'hush hush', operator: true}]}}", []string{
		"f:1:29: gateway.tokens[0].token: has characters that a bearer token cannot have; use visible ASCII without spaces",
	}},
}

func TestProblems(t *testing.T) {
	for _, c := range append(problems, variantProblems...) {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := Parse("f", []byte(c.text))
			if cfg != nil || err == nil {
				t.Fatalf("accepted: %+v", cfg)
			}
			if d := cmp.Diff(c.want, strings.Split(err.Error(), "\n")); d != "" {
				t.Error(d)
			}
			var p *Problem
			if !errors.As(err, &p) || p.File != "f" || p.Line == 0 {
				t.Errorf("the first problem is %+v", p)
			}
		})
	}
}
