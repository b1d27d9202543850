import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import Ajv from "ajv/dist/2020.js";

import { Host } from "../host.js";
import { register } from "../openclaw.js";
import { Plugin } from "../plugin.js";
import { sleepUntil } from "../time.js";
import { unreachable } from "../unreachable.js";

const run = promisify(execFile);
const file = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const json = async (name) => JSON.parse(await readFile(file(name)));

const schema = await json("../../abi/schema/messages.json");
const ajv = new Ajv({ strict: false, allErrors: true }).addSchema(schema);

/** Fails unless the text is valid under the schema of that name. */
function valid(name, text) {
  const check = ajv.getSchema(`${schema.$id}#/$defs/${name}`);
  assert.ok(check, `the schema ${name} does not exist`);
  assert.ok(check(JSON.parse(text)), `${name}: ${ajv.errorsText(check.errors)}: ${text}`);
}

const outputs = { describe: "description", derive: "facts", call: "step", resume: "step" };

/** Wraps a plugin and validates all of its messages. */
class Checked {
  seen = new Set();
  inputs = []; // inputs of the export call

  constructor(plugin) {
    const { call } = plugin;
    plugin.call = async (name, input, serve) => {
      if (input) this.#check(name, input);
      const output = await call.call(plugin, name, input, (namespace, request) => {
        this.#check(`${namespace}.request`, request);
        const reply = serve(namespace, request);
        this.#check(`${namespace}.${JSON.parse(request).op}.reply`, reply);
        return reply;
      });
      this.#check(outputs[name], output);
      return output;
    };
    this.plugin = plugin;
  }

  #check(name, text) {
    this.seen.add(name);
    if (name === "call") this.inputs.push(JSON.parse(text));
    valid(name, text);
  }
}

/** Starts a host with the demo's settings and sessions, and with these agents. */
async function start(agents, { deliver = async () => {}, change = () => {} } = {}) {
  const fixture = await json("../fixture.json");
  change(fixture);
  const checked = new Checked(await Plugin.load());
  const host = await Host.start({ ...fixture, agents, deliver, plugin: checked.plugin });
  return { host, checked };
}

const main = "agent:main:main";
const send = (host, sessionKey, more) => host.call("sessions_send", { sessionKey, message: "?", ...more }, main);

const says = (...texts) => async () => texts.shift();

test("the demo prints demo.txt", async () => {
  const { stdout } = await run(process.execPath, [file("demo.js")]);
  assert.equal(stdout, await readFile(file("../demo.txt"), "utf8"));
});

test("every message is valid under its schema", async () => {
  const delivered = [];
  const deliver = async (destination, text) => delivered.push({ ...destination, text });
  const { host, checked } = await start({ main: says("And you?", "REPLY_SKIP", "ANNOUNCE_SKIP"), ops: says("Fine.", "Too.", "They are fine.") }, { deliver });
  valid("description", await checked.plugin.call("describe", ""));
  for (const [tool, args] of [["sessions_list", { messageLimit: 2 }], ["sessions_history", { sessionKey: "main" }], ["agents_list", {}],
    ["sessions_send", { sessionKey: "agent:ops:main", message: "How are you?" }], ["sessions_spawn", { task: "Nothing.", cleanup: "delete" }]]) {
    await host.call(tool, args, "agent:main:main");
    await host.idle();
  }
  assert.deepEqual(delivered.map(({ allowed, target, text }) => [allowed, target.channel, text]), [[true, "discord", "They are fine."]]);
  assert.deepEqual(host.parked, []);
  for (const name of ["derive", "call", "resume", "store.list.reply", "store.history.reply", "store.create.reply", "store.delete.reply", "agent.run.reply", "deliver.send.reply"]) {
    assert.ok(checked.seen.has(name), `${name} did not occur`);
  }
});

test("an invalid message fails the schema check", () => {
  valid("store.request", '{"op":"get","sessionKey":"agent:main:main"}');
  for (const text of ['{"op":"gets","sessionKey":"x"}', '{"op":"get","sessionkey":"x"}', '{"op":"get"}']) {
    assert.throws(() => valid("store.request", text));
  }
});

test("a send times out before its run has ended", async () => {
  let ends;
  const late = new Promise((resolve) => { ends = resolve; });
  const { host } = await start({ main: says("REPLY_SKIP"), ops: ({ noTools }) => (noTools ? Promise.resolve("ANNOUNCE_SKIP") : late) });
  const { result } = await host.call("sessions_send", { sessionKey: "agent:ops:main", message: "Hello?", timeoutSeconds: 1 }, "agent:main:main");
  assert.equal(result.status, "timeout");
  ends("At last.");
  await host.idle();
  assert.deepEqual(host.parked, []);
});

test("a run ends at its time limit, and its late reply is ignored", async () => {
  let ends;
  const late = new Promise((resolve) => { ends = resolve; });
  const { host } = await start({ main: says(), ops: ({ noTools }) => (noTools ? Promise.resolve("ANNOUNCE_SKIP") : late) });
  const { result } = await host.call("sessions_spawn", { task: "?", agentId: "ops", runTimeoutSeconds: 1, announce: "none" }, "agent:main:main");
  const child = () => host.call("sessions_history", { sessionKey: result.childSessionKey }, "agent:main:main");
  await sleepUntil(Date.now() + 1200);
  ends("Too late.");
  await late;
  assert.equal((await child()).result.messages.length, 1);
});

test("two concurrent calls", async () => {
  const { host } = await start({ main: says("REPLY_SKIP"), ops: says("One.", "ANNOUNCE_SKIP") });
  const [list, send] = await Promise.all([
    host.call("sessions_list", {}, "agent:main:main"),
    host.call("sessions_send", { sessionKey: "agent:ops:main", message: "?" }, "agent:main:main"),
  ]);
  assert.equal(list.result.count, 3);
  assert.equal(send.result.reply, "One.");
  await host.idle();
});

test("a run calls tools as its session, and does not wait for a run that waits for it", async () => {
  const agents = {};
  const { host } = await start(agents);
  let answered;
  const ask = (to, from) => async (run) => {
    if (run.noTools) return "ANNOUNCE_SKIP";
    if (/turn/.test(run.context)) return "REPLY_SKIP";
    const { result } = await host.call("sessions_send", { sessionKey: to, message: "And?" }, from, run);
    answered ??= result;
    return "Done.";
  };
  agents.main = ask("agent:ops:main", "agent:main:main");
  agents.ops = ask("agent:main:main", "agent:ops:main");
  const { result } = await host.call("sessions_send", { sessionKey: "agent:main:main", message: "Go." }, "agent:main:telegram:group:-100");
  assert.equal(result.reply, "Done.");
  assert.equal(answered.status, "accepted", "a send that would block is accepted");
  await host.idle();
});

test("an unknown tool rejects the call, and a wrong argument is a result", async () => {
  const { host } = await start({ main: says(), ops: says() });
  await assert.rejects(host.call("sessions_sent", {}, "agent:main:main"), { name: "ParleyError", code: "not_found" });
  const { result, code } = await host.call("sessions_send", { sessionKey: "agent:none:main", message: "x" }, "agent:main:main");
  assert.deepEqual([result.status, code], ["error", "not_found"]);
});

test("register adds the tools to a gateway with OpenClaw's plugin API", async () => {
  const { host } = await start({ main: says(), ops: says() });
  const registered = {};
  register({ registerTool: (factory, { name }) => (registered[name] = factory) }, host);
  assert.deepEqual(Object.keys(registered), ["sessions_list", "sessions_history", "agents_list", "sessions_send", "sessions_spawn"].map((name) => `parley_${name}`));
  const tool = registered.parley_agents_list({ sessionKey: "agent:ops:main" });
  assert.equal(tool.parameters.type, "object");
  const { content, details } = await tool.execute("call-1", {});
  assert.equal(details.requester, "ops");
  assert.deepEqual(JSON.parse(content[0].text), details);
});

test("a message has its provenance", async () => {
  const { host } = await start({ main: says("REPLY_SKIP"), ops: says("Yes.", "ANNOUNCE_SKIP") });
  await send(host, "agent:ops:main");
  const { result } = await host.call("sessions_history", { sessionKey: "agent:ops:main" }, main);
  assert.deepEqual(result.messages[0].provenance, { kind: "inter_session", sourceSessionKey: "main", sourceChannel: "telegram", sourceTool: "sessions_send" });
  await host.idle();
});

test("the number of active children is limited", async () => {
  let ends;
  const busy = new Promise((resolve) => { ends = resolve; });
  const { host } = await start({ main: () => busy, ops: says() }, { change: ({ config }) => (config.agents.defaults = { subagents: { maxChildrenPerAgent: 1 } }) });
  const spawn = async () => (await host.call("sessions_spawn", { task: "?", cleanup: "delete" }, main)).result.status;
  assert.deepEqual([await spawn(), await spawn()], ["accepted", "forbidden"]);
  ends("ANNOUNCE_SKIP");
  await host.idle();
});

test("the send policy denies messages", async () => {
  const { host } = await start({ main: says(), ops: says() }, { change: ({ sessions }) => (sessions[1].session.sendPolicy = "deny") });
  assert.equal((await send(host, "agent:ops:main")).result.status, "forbidden");
  await host.add({ key: "agent:ops:main", agentId: "ops", sessionId: "s-ops", updatedAt: 1 }, []);
  assert.equal((await send(host, "agent:ops:main", { timeoutSeconds: 0, announce: "none" })).result.status, "accepted");
});

test("a run's call has the hops of the run", async () => {
  const agents = {};
  const { host, checked } = await start(agents);
  agents.ops = async (run) => {
    await host.call("agents_list", {}, run.sessionKey, run);
    return "REPLY_SKIP";
  };
  await send(host, "agent:ops:main", { announce: "none" });
  await host.idle();
  const { caller } = checked.inputs.find(({ tool }) => tool === "agents_list");
  assert.deepEqual([caller.hops, caller.runId], [1, "flow-1-1-1"]);
});

test("a report is posted to the requester's destination at the time of the spawn", async () => {
  const destinations = [];
  let ends;
  const texts = [new Promise((resolve) => { ends = resolve; }), "Result: done"];
  const { host } = await start({ main: async () => texts.shift(), ops: says() }, { deliver: async ({ target }) => destinations.push(target) });
  await host.call("sessions_spawn", { task: "?", cleanup: "delete" }, main);
  await host.add({ key: main, agentId: "main", sessionId: "s-main", updatedAt: 1, deliveryContext: { channel: "telegram", to: "8" } });
  ends("Done.");
  await host.idle();
  assert.deepEqual(destinations, [{ channel: "telegram", to: "7" }]);
});

test("a failed delivery is parked", async () => {
  const { host } = await start({ main: says("REPLY_SKIP"), ops: says("Yes.", "Said.") }, { deliver: async () => { throw new Error("the channel is down"); } });
  await send(host, "agent:ops:main");
  await host.idle();
  assert.deepEqual(host.parked.map(({ error }) => error.message), ["the channel is down"]);
});

test("unusual results and errors of agents end their runs", async () => {
  const odd = [async () => undefined, async () => { throw null; }, () => { throw new Error("no"); }, async () => { throw "text"; }];
  const { host } = await start({ main: says(), ops: (run, signal) => odd.shift()(run, signal) });
  const statuses = [];
  while (odd.length > 0) statuses.push((await send(host, "agent:ops:main", { announce: "none" })).result.status);
  assert.deepEqual(statuses, ["ok", "error", "error", "error"]);
  await host.idle();
  assert.deepEqual(host.parked, []);
});

test("a failed step parks its flow", async () => {
  const { host, checked } = await start({ main: says("REPLY_SKIP"), ops: says("Yes.", "ANNOUNCE_SKIP") });
  const { call } = checked.plugin;
  checked.plugin.call = (name, ...rest) => (name === "resume" ? Promise.reject(new Error("down")) : call(name, ...rest));
  await assert.rejects(send(host, "agent:ops:main"), /down/);
  await host.idle();
  assert.deepEqual(host.parked.map(({ id }) => id), ["flow-1"]);
});

test("the calling session must exist", async () => {
  const { host } = await start({});
  await assert.rejects(host.call("sessions_list", {}, "agent:none:main"), /session agent:none:main does not exist/);
});

test("a trap replaces the instance", async () => {
  const plugin = await Plugin.load(unreachable);
  for (let i = 0; i < 3; i++) await assert.rejects(plugin.call("call", "{}"), { name: "RuntimeError", message: "unreachable" });
  await plugin.close();
});

test("failures.js prints each failure, and the plugin answers after each", async () => {
  const { stdout } = await run(process.execPath, [file("failures.js")]);
  assert.equal(stdout, `a trap: RuntimeError: unreachable
  and the plugin still answers
a host function that fails: Error: the store is down
  and the plugin still answers
an unknown tool: ParleyError not_found: this plugin has no tool "sessions_lists"
  and the plugin still answers
a bad argument: invalid_args: limit must be a number
  and the plugin still answers
`);
});
