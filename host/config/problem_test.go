package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// invalidFile is an invalid configuration. want are the problems that Parse must report.
type invalidFile struct {
	name, text string
	want       []string
}

var problems = []invalidFile{
	{"invalid JSON5", "{\n  session: {\n", []string{"f:3:1: not valid JSON5: unexpected end of input"}},
	{"empty", "", []string{"f:1:1: not valid JSON5: unexpected end of input"}},
	{"not an object", "[]", []string{"f:1:1: is an array; it must be an object"}},
	{"invalid number", `{session: 1, tools: [], agents: null, gateway: "x", store: true, plugins: {limits: 1e400}}`,
		[]string{"f:1:89: not valid JSON5: invalid number: 1e400"}},
	{"several wrong kinds", `{session: 1, tools: [], agents: null, gateway: "x", store: true, plugins: {limits: 1}}`, []string{
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
	{"enumerations", "{session: {scope: 'Global'}, tools: {sessions: {visibility: 'tre'}, agentToAgent: {enabled: 'yes'}}, agents: {defaults: {sandbox: {sessionToolsVisibility: ' '}}}}", []string{
		`f:1:19: session.scope: "Global" is not one of per-sender, global`,
		`f:1:61: tools.sessions.visibility: "tre" is not one of self, tree, agent, all`,
		"f:1:93: tools.agentToAgent.enabled: is a string; it must be a boolean",
		"f:1:156: agents.defaults.sandbox.sessionToolsVisibility: is blank; leave it out, or give it a value",
	}},
	{"main keys", "{session: {mainKey: 'cron:x'}}", []string{`f:1:21: session.mainKey: "cron:x" is the key of another kind of session; write a plain word such as "main"`}},
	{"reserved main key", "{session: {mainKey: 'global'}}", []string{`f:1:21: session.mainKey: "global" is a reserved word`}},
	{"main key with a newline", `{session: {mainKey: 'a\nb'}}`, []string{`f:1:21: session.mainKey: "a\nb" contains control characters`}},
	{"long main key", "{session: {mainKey: '" + strings.Repeat("é", 300) + "'}}",
		[]string{`f:1:21: session.mainKey: "` + strings.Repeat("é", 30) + `…" is longer than 512 bytes`}},
	{"patterns", "{tools: {agentToAgent: {allow: ['a b', 1, '', '*', 'x-*']}}}", []string{
		`f:1:33: tools.agentToAgent.allow[0]: "a b" is not a pattern of agent ids; write a-z, 0-9, _ and -, with * for any sequence of them`,
		"f:1:40: tools.agentToAgent.allow[1]: is a number; it must be a string",
		"f:1:43: tools.agentToAgent.allow[2]: is blank; leave it out, or give it a value",
	}},
	{"tools of children", "{tools: {subagents: {tools: {\nallow: ['sessions_*', 'Exec', '', '-'],\ndeny: ['*', 'group:fs', 'a b', 'exec?', 'é']}}}}", []string{
		`f:2:23: tools.subagents.tools.allow[1]: "Exec" is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any sequence of them`,
		"f:2:31: tools.subagents.tools.allow[2]: is blank; leave it out, or give it a value",
		`f:3:13: tools.subagents.tools.deny[1]: "group:fs" is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any sequence of them`,
		`f:3:25: tools.subagents.tools.deny[2]: "a b" is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any sequence of them`,
		`f:3:32: tools.subagents.tools.deny[3]: "exec?" is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any sequence of them`,
		`f:3:41: tools.subagents.tools.deny[4]: "é" is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any sequence of them`,
	}},
	{"agents", "{agents: {list: [\n{id: 'a b'},\n{name: 'x'},\n{id: 'Main', default: true},\n{id: 'main'},\n{id: 'ops', default: true},\n'x',\n{id: 'q', subagents: {allowAgents: ['ops', 'nobody', '-', '*']}}],\n defaults: {subagents: {allowAgents: ['other']}}}}", []string{
		`f:2:6: agents.list[0].id: "a b" has an invalid agent id; one is 1 to 64 of a-z, 0-9, _ and -, and starts with a letter or digit`,
		`f:3:1: agents.list[1]: has no id; give the agent one, such as id: "main"`,
		`f:5:1: agents.list[3]: has the id "main", which agents.list[2] already uses`,
		"f:6:1: agents.list[4]: is a second default agent; agents.list[2] is already the default",
		"f:7:1: agents.list[5]: is a string; it must be an object",
		`f:8:44: agents.list[6].subagents.allowAgents[1]: "nobody" is not a configured agent; configured: main, ops, q`,
		`f:8:54: agents.list[6].subagents.allowAgents[2]: "-" has an invalid agent id; one is 1 to 64 of a-z, 0-9, _ and -, and starts with a letter or digit`,
		`f:9:39: agents.defaults.subagents.allowAgents[0]: "other" is not a configured agent; configured: main, ops, q`,
	}},
	{"listen", "{gateway: {listen: '8484'}}", []string{`f:1:20: gateway.listen: "8484" is not host:port; write one such as "127.0.0.1:8484"`}},
	{"listen port", "{gateway: {listen: 'localhost:http'}}", []string{`f:1:20: gateway.listen: "localhost:http" is not host:port; write one such as "127.0.0.1:8484"`}},
	{"tokens", "{gateway: {tokens: [\n{operator: true},\n{token: 'a'},\n{token: 'b', operator: true, caller: {sessionKey: 'main'}},\n{token: 'c', caller: {}},\n{token: 'd e', operator: true},\n{token: {}, operator: true},\n{token: {env: 'PARLEY_CONFIG_TEST_UNSET'}, operator: true},\n{token: 5, operator: true},\n{token: 'a', operator: true},\n{token: 'f', operator: false}]}}", []string{
		"f:2:1: gateway.tokens[0]: has no token; give it as text or as {env: NAME}",
		"f:3:1: gateway.tokens[1]: must have either operator: true or a caller, and not both",
		"f:4:1: gateway.tokens[2]: must have either operator: true or a caller, and not both",
		"f:5:22: gateway.tokens[3].caller: has no sessionKey; name the session of the token",
		"f:6:9: gateway.tokens[4].token: has characters that a bearer token cannot have; use visible ASCII without spaces",
		"f:7:9: gateway.tokens[5].token: has no env; write {env: NAME} with the name of an environment variable",
		"f:9:9: gateway.tokens[7].token: is a number; it must be a string, or {env: NAME}",
		"f:10:1: gateway.tokens[8]: has the same token as gateway.tokens[1]; each needs its own",
		"f:11:1: gateway.tokens[9]: must have either operator: true or a caller, and not both",
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
	{"NaN and infinity", "{plugins: {limits: {memoryMiB: NaN, stepTimeoutMs: -Infinity}}}", []string{
		"f:1:32: plugins.limits.memoryMiB: is NaN; it must be a whole number from 1 to 4095",
		"f:1:52: plugins.limits.stepTimeoutMs: is -Inf; it must be a whole number from 1 to 600000",
	}},
	{"secrets stay out of messages", "{gateway: {tokens: [{token: 'hush hush', operator: true}]}}", []string{
		"f:1:29: gateway.tokens[0].token: has characters that a bearer token cannot have; use visible ASCII without spaces",
	}},
	{"owners", "{session: {owners: ['telegram:1', '123', ':1', 'x: ', 7]}}", []string{
		`f:1:35: session.owners[1]: "123" does not name a sender; write <channel>:<senderId>, such as "telegram:123"`,
		`f:1:42: session.owners[2]: ":1" does not name a sender; write <channel>:<senderId>, such as "telegram:123"`,
		`f:1:48: session.owners[3]: "x:" does not name a sender; write <channel>:<senderId>, such as "telegram:123"`,
		"f:1:55: session.owners[4]: is a number; it must be a string",
	}},
	{"send policy", "{session: {sendPolicy: {default: 'maybe', rules: [\n{match: {channel: ''}, action: 'deny'},\n{match: {chatType: 'dm', key: 'x'}, action: 'drop'},\n{action: 'deny'},\n{match: {}},\n'deny']}}}", []string{
		`f:1:34: session.sendPolicy.default: "maybe" is not one of allow, deny`,
		"f:2:19: session.sendPolicy.rules[0].match.channel: is blank; leave it out, or give it a value",
		`f:3:20: session.sendPolicy.rules[1].match.chatType: "dm" is not one of direct, group, channel`,
		"f:3:26: session.sendPolicy.rules[1].match.key: is an unknown name, or a setting that this version does not know; known here: channel, chatType, keyPrefix",
		`f:3:45: session.sendPolicy.rules[1].action: "drop" is not one of allow, deny`,
		"f:4:1: session.sendPolicy.rules[2]: has no match; write match: {} if it is for every session",
		"f:5:1: session.sendPolicy.rules[3]: has no action; write allow or deny",
		"f:6:1: session.sendPolicy.rules[4]: is a string; it must be an object",
	}},
	{"prices", "{models: {pricing: {a: {inputPerMTok: -1, outputPerMTok: 1},\nb: {inputPerMTok: Infinity},\n' ': {}, b: {}, c: 5}}}", []string{
		"f:1:39: models.pricing.a.inputPerMTok: is -1; it must be a price in dollars, 0 or more",
		"f:2:4: models.pricing.b: has no outputPerMTok",
		"f:2:19: models.pricing.b.inputPerMTok: is +Inf; it must be a price in dollars, 0 or more",
		"f:3:1: models.pricing: has a member with a blank name",
		"f:3:10: models.pricing.b: is given twice; the first is on line 2",
		"f:3:20: models.pricing.c: is a number; it must be an object",
	}},
	{"sandbox modes", "{agents: {defaults: {sandbox: {mode: 'on'}}, list: [{id: 'a', sandbox: {mode: 'None', sessionToolsVisibility: 'all'}}]}}", []string{
		`f:1:38: agents.defaults.sandbox.mode: "on" is not one of off, non-main, all`,
		`f:1:79: agents.list[0].sandbox.mode: "None" is not one of off, non-main, all`,
		"f:1:87: agents.list[0].sandbox.sessionToolsVisibility: is an unknown name, or a setting that this version does not know; known here: mode",
	}},
	{"runners without a kind", "{agents: {defaults: {runner: {argv: ['x']}}, list: [\n{id: 'a', runner: {kind: 'claude'}},\n{id: 'b', runner: 'script'},\n{id: 'c', runner: {kind: 5}}]}}", []string{
		"f:1:30: agents.defaults.runner: has no kind; it is one of openai, command, script",
		`f:2:26: agents.list[0].runner.kind: "claude" is not one of openai, command, script`,
		"f:3:19: agents.list[1].runner: is a string; it must be an object",
		"f:4:26: agents.list[2].runner.kind: is a number; it must be a string",
	}},
	{"runners without required members", "{agents: {list: [\n{id: 'a', runner: {kind: 'openai'}},\n{id: 'b', runner: {kind: 'command'}},\n{id: 'c', runner: {kind: 'script'}}]}}", []string{
		"f:2:19: agents.list[0].runner: has no baseUrl, which kind openai needs",
		"f:3:19: agents.list[1].runner: has no argv, which kind command needs",
		"f:4:19: agents.list[2].runner: has no replies, which kind script needs",
	}},
	{"members of other kinds", "{agents: {list: [\n{id: 'a', runner: {argv: 5, kind: 'openai', baseUrl: 'http://x'}},\n{id: 'b', runner: {kind: 'command', argv: ['x'], replies: [], apiKey: 'k'}},\n{id: 'c', runner: {kind: 'script', replies: ['x'], historyBytes: 1, Dir: 'x'}}]}}", []string{
		"f:2:26: agents.list[0].runner.argv: applies only to kind command",
		"f:3:59: agents.list[1].runner.replies: applies only to kind script",
		"f:3:71: agents.list[1].runner.apiKey: applies only to kind openai",
		"f:4:66: agents.list[2].runner.historyBytes: applies only to kind openai, command",
		"f:4:69: agents.list[2].runner.Dir: is an unknown name; did you mean dir?",
	}},
	{"openai", "{agents: {list: [\n{id: 'a', runner: {kind: 'openai', baseUrl: 'ftp://user:hush@x', apiKey: 'a b', model: '', historyMessages: 1001, historyBytes: -1}},\n{id: 'b', runner: {kind: 'openai', baseUrl: 'http://', apiKey: 7}},\n{id: 'c', runner: {kind: 'openai', baseUrl: 'http://x/v1?key=hush'}}]}}", []string{
		"f:2:45: agents.list[0].runner.baseUrl: is not a URL such as http://127.0.0.1:9000/path",
		"f:2:74: agents.list[0].runner.apiKey: has characters that a bearer token cannot have; use visible ASCII without spaces",
		"f:2:88: agents.list[0].runner.model: is blank; leave it out, or give it a value",
		"f:2:109: agents.list[0].runner.historyMessages: is 1001; it must be a whole number from 0 to 1000",
		"f:2:129: agents.list[0].runner.historyBytes: is -1; it must be a whole number from 0 to 1073741824",
		"f:3:45: agents.list[1].runner.baseUrl: is not a URL such as http://127.0.0.1:9000/path",
		"f:3:64: agents.list[1].runner.apiKey: is a number; it must be a string, or {env: NAME}",
		"f:4:45: agents.list[2].runner.baseUrl: has a query or fragment; the service's paths are appended to it",
	}},
	{"command", "{agents: {list: [\n{id: 'a', runner: {kind: 'command', argv: []}},\n{id: 'b', runner: {kind: 'command', argv: [' '], maxOutputBytes: 0}},\n{id: 'c', runner: {kind: 'command', argv: ['a\\0b', 1], dir: ''}},\n{id: 'd', runner: {kind: 'command', argv: 'x', env: []}},\n{id: 'e', runner: {kind: 'command', argv: ['x'], env: {'1A': 'x', 'A-B': 'x', PARLEY_URL: 'x', A: 5, B: {}, C: '\\0'}}}]}}", []string{
		`f:2:43: agents.list[0].runner.argv: has no program; write one such as ["claude", "-p"]`,
		"f:3:44: agents.list[1].runner.argv[0]: is blank; it must name a program",
		"f:3:66: agents.list[1].runner.maxOutputBytes: is 0; it must be a whole number from 1 to 1073741824",
		"f:4:44: agents.list[2].runner.argv[0]: contains a NUL character",
		"f:4:52: agents.list[2].runner.argv[1]: is a number; it must be a string",
		"f:4:61: agents.list[2].runner.dir: is blank; leave it out, or give it a value",
		"f:5:43: agents.list[3].runner.argv: is a string; it must be an array",
		"f:5:53: agents.list[3].runner.env: is an array; it must be an object",
		"f:6:62: agents.list[4].runner.env.1A: is not a valid name of an environment variable; use letters, digits and _, and do not start with a digit",
		"f:6:74: agents.list[4].runner.env.A-B: is not a valid name of an environment variable; use letters, digits and _, and do not start with a digit",
		"f:6:91: agents.list[4].runner.env.PARLEY_URL: is reserved; choose a name that does not begin with PARLEY_",
		"f:6:99: agents.list[4].runner.env.A: is a number; it must be a string, or {env: NAME}",
		"f:6:105: agents.list[4].runner.env.B: has no env; write {env: NAME} with the name of an environment variable",
		"f:6:112: agents.list[4].runner.env.C: contains a NUL character",
	}},
	{"script", "{agents: {defaults: {runner: {kind: 'script', replies: []}}, list: [{id: 'a', runner: {kind: 'script', replies: [\n5,\n{text: 'a', error: 'b'},\n{args: {}},\n{tool: 'x', args: [1]},\n{tool: 'x', args: {a: Infinity, b: 1e300, c: [NaN], d: 1, d: 2}},\n{afterMs: 90000000, delay: 1},\n{error: 'x', usage: {input: 1}},\n{usage: {}},\n{usage: {input: -1, output: 1.5, total: 3}},\n{usage: 5}]}}]}}", []string{
		"f:1:56: agents.defaults.runner.replies: is empty; give it at least one reply",
		"f:2:1: agents.list[0].runner.replies[0]: is a number; it must be a string, or {text, afterMs, error, tool, args, usage}",
		"f:3:20: agents.list[0].runner.replies[1].error: is given together with text; a reply has one or the other",
		"f:4:8: agents.list[0].runner.replies[2].args: is given without a tool",
		"f:5:19: agents.list[0].runner.replies[3].args: is an array; it must be an object",
		"f:6:23: agents.list[0].runner.replies[4].args.a: is +Inf; it must be a number from -2^53 to 2^53",
		"f:6:36: agents.list[0].runner.replies[4].args.b: is 1e+300; it must be a number from -2^53 to 2^53",
		"f:6:47: agents.list[0].runner.replies[4].args.c[0]: is NaN; it must be a number from -2^53 to 2^53",
		"f:6:59: agents.list[0].runner.replies[4].args.d: is given twice; the first is on line 6",
		"f:7:11: agents.list[0].runner.replies[5].afterMs: is 90000000; it must be a whole number from 0 to 86400000",
		"f:7:21: agents.list[0].runner.replies[5].delay: is an unknown name, or a setting that this version does not know; known here: text, afterMs, error, tool, args, usage",
		"f:8:21: agents.list[0].runner.replies[6].usage: is given together with error; only an answer has usage",
		"f:9:9: agents.list[0].runner.replies[7].usage: is empty; give it input, output or both",
		"f:10:17: agents.list[0].runner.replies[8].usage.input: is -1; it must be a whole number from 0 to 1000000000",
		"f:10:29: agents.list[0].runner.replies[8].usage.output: is 1.5; it must be a whole number from 0 to 1000000000",
		"f:10:34: agents.list[0].runner.replies[8].usage.total: is an unknown name, or a setting that this version does not know; known here: input, output",
		"f:11:9: agents.list[0].runner.replies[9].usage: is a number; it must be an object",
	}},
	{"delivery", "{delivery: {maxAge: '0s', retries: 3, channels: []}}", []string{
		`f:1:21: delivery.maxAge: "0s" is not a duration such as "90s", "15m" or "24h"`,
		"f:1:27: delivery.retries: is an unknown name, or a setting that this version does not know; known here: maxAge, channels",
		"f:1:49: delivery.channels: is an array; it must be an object",
	}},
	{"duration as a number", "{delivery: {maxAge: 24}}", []string{"f:1:21: delivery.maxAge: is a number; it must be a string"}},
	{"invalid duration", "{delivery: {maxAge: '1 day'}}", []string{`f:1:21: delivery.maxAge: "1 day" is not a duration such as "90s", "15m" or "24h"`}},
	{"sinks", "{delivery: {channels: {\na: {},\nb: {sink: 'mail'},\nc: {sink: 'webhook'},\nd: {sink: 'webhook', url: 'file:///x', token: 'x'},\ne: {sink: 'telegram', url: 'http://x'},\nf: {sink: 'discord', token: 'x', secret: 'x', baseUrl: 'http://x#y'},\ng: {sink: 'log', token: 'x'},\nG: {sink: 'log'},\nInternal: {sink: 'log'},\nh: 'log'}}}", []string{
		"f:2:4: delivery.channels.a: has no sink; it is one of log, webhook, telegram, slack, discord",
		`f:3:11: delivery.channels.b.sink: "mail" is not one of log, webhook, telegram, slack, discord`,
		"f:4:4: delivery.channels.c: has no url, which sink webhook needs",
		"f:5:27: delivery.channels.d.url: is not a URL such as http://127.0.0.1:9000/path",
		"f:5:47: delivery.channels.d.token: applies only to sink telegram, slack, discord",
		"f:6:4: delivery.channels.e: has no token, which sink telegram needs",
		"f:6:28: delivery.channels.e.url: applies only to sink webhook",
		"f:7:42: delivery.channels.f.secret: applies only to sink webhook",
		"f:7:56: delivery.channels.f.baseUrl: has a query or fragment; the service's paths are appended to it",
		"f:8:25: delivery.channels.g.token: applies only to sink telegram, slack, discord",
		"f:9:4: delivery.channels.G: is given twice; names of channels are case-insensitive",
		"f:10:11: delivery.channels.Internal: is not a chat channel; nothing is delivered to it",
		"f:11:4: delivery.channels.h: is a string; it must be an object",
	}},
	{"runs", "{runs: {maxAttempts: 0, timeoutSeconds: 86401, groups: {main: 0, nested: 1}}}", []string{
		"f:1:22: runs.maxAttempts: is 0; it must be a whole number from 1 to 10",
		"f:1:41: runs.timeoutSeconds: is 86401; it must be a whole number from 1 to 86400",
		"f:1:63: runs.groups.main: is 0; it must be a whole number from 1 to 1000",
		"f:1:66: runs.groups.nested: is an unknown name, or a setting that this version does not know; known here: main",
	}},
	{"signatures", "{plugins: {requireSignature: true, keys: {a: '?', b: 'AAAA', c: 5,\nd: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEAsEjEfHeITOU0iuG2EHnPWPHLXnnZoYFDgqjcRnJ4aqgc7Xfa0Pl6o4HCn9H+yiW/VMu+bciqR5QP4OKhBcAbA=='}}}", []string{
		"f:1:46: plugins.keys.a: is neither PEM nor base64; it must be an ed25519 public key, as PEM or base64",
		"f:1:54: plugins.keys.b: is not a public key; it must be an ed25519 public key, as PEM or base64",
		"f:1:65: plugins.keys.c: is a number; it must be a string",
		"f:2:4: plugins.keys.d: is a key of another type; it must be an ed25519 public key, as PEM or base64",
	}},
	{"signatures without keys", "{plugins:\n{requireSignature: true}}", []string{
		"f:2:1: plugins: requireSignature is true, but there are no keys to check signatures with; add keys",
	}},
	{"signatures with empty keys", "{plugins:\n{requireSignature: true, keys: {}}}", []string{
		"f:2:1: plugins: requireSignature is true, but there are no keys to check signatures with; add keys",
	}},
	{"plugins", "{plugins: {allow: ['store.list', 'store.all', 'run.*', 5], verify: 'some', rollback: {failures: -1, steps: 0}, limits: {fuel: 0, runs: 17}}}", []string{
		`f:1:34: plugins.allow[1]: "store.all" is not a host function; known: store.get, store.resolve, store.list, store.history, store.create, store.archive, store.delete, agent.status, agent.waits, agent.run, deliver.send`,
		`f:1:47: plugins.allow[2]: "run.*" is not a host function; known: store.get, store.resolve, store.list, store.history, store.create, store.archive, store.delete, agent.status, agent.waits, agent.run, deliver.send`,
		"f:1:56: plugins.allow[3]: is a number; it must be a string",
		`f:1:68: plugins.verify: "some" is not one of all, quick, none`,
		"f:1:97: plugins.rollback.failures: is -1; it must be a whole number from 0 to 1000",
		"f:1:108: plugins.rollback.steps: is 0; it must be a whole number from 1 to 1000000",
		"f:1:127: plugins.limits.fuel: is 0; it must be a whole number from 1 to 9007199254740992",
		"f:1:136: plugins.limits.runs: is 17; it must be a whole number from 1 to 16",
	}},
}

func TestProblems(t *testing.T) {
	for _, c := range problems {
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
				t.Errorf("the first problem is %+v, want file f and a line", p)
			}
		})
	}
}
