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
import { time } from "../time.js";
import { unreachable } from "../unreachable.js";

const run = promisify(execFile);
const file = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const json = async (name) => JSON.parse(await readFile(file(name)));

const schema = await json("../../abi/schema/messages.json");
const ajv = new Ajv({ strict: false, allErrors: true }).addSchema(schema);

/** Fails unless the text is a message of that name. */
function valid(name, text) {
  const check = ajv.getSchema(`${schema.$id}#/$defs/${name}`);
  assert.ok(check, `there is no schema of ${name}`);
  assert.ok(check(JSON.parse(text)), `${name}: ${ajv.errorsText(check.errors)}: ${text}`);
}

const outputs = { describe: "description", derive: "facts", call: "step", resume: "step" };

/** A plugin all of whose messages are checked. */
class Checked {
  seen = new Set();
  inputs = []; // of calls

  constructor(plugin) {
    const { call } = plugin;
    plugin.call = async (name, input, serve) => {
      if (input) this.#check(name, input);
      const output = await call.call(plugin, name, input, (family, request) => {
        this.#check(`${family}.request`, request);
        const reply = serve(family, request);
        this.#check(`${family}.${JSON.parse(request).op}.reply`, reply);
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

/** A host in the world of the demo, with agents of its own. */
async function start(agents, { deliver = async () => {}, change = () => {} } = {}) {
  const world = await json("../world.json");
  change(world);
  const checked = new Checked(await Plugin.load());
  const host = await Host.start({ ...world, agents, deliver, plugin: checked.plugin });
  return { host, checked };
}

const main = "agent:main:main";
const send = (host, sessionKey, more) => host.call("sessions_send", { sessionKey, message: "?", ...more }, main);

const says = (...texts) => async () => texts.shift();

test("the demo prints what the demo of every language prints", async () => {
  const { stdout } = await run(process.execPath, [file("demo.js")]);
  assert.equal(stdout, await readFile(file("../demo.txt"), "utf8"));
});

test("every message has the form of its schema", async () => {
  const delivered = [];
  const deliver = async (place, text) => delivered.push({ ...place, text });
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
    assert.ok(checked.seen.has(name), `no ${name} was seen`);
  }
});

test("a message of another form is noticed", () => {
  valid("store.request", '{"op":"get","sessionKey":"agent:main:main"}');
  for (const text of ['{"op":"gets","sessionKey":"x"}', '{"op":"get","sessionkey":"x"}', '{"op":"get"}']) {
    assert.throws(() => valid("store.request", text));
  }
});

test("the time comes before the run has ended", async () => {
  let ends;
  const late = new Promise((resolve) => { ends = resolve; });
  const { host } = await start({ main: says("REPLY_SKIP"), ops: ({ noTools }) => (noTools ? Promise.resolve("ANNOUNCE_SKIP") : late) });
  const { result } = await host.call("sessions_send", { sessionKey: "agent:ops:main", message: "Hello?", timeoutSeconds: 1 }, "agent:main:main");
  assert.equal(result.status, "timeout");
  ends("At last.");
  await host.idle();
  assert.deepEqual(host.parked, []);
});

test("a run that takes too long is over, and what it says later counts no more", async () => {
  let ends;
  const late = new Promise((resolve) => { ends = resolve; });
  const { host } = await start({ main: says(), ops: ({ noTools }) => (noTools ? Promise.resolve("ANNOUNCE_SKIP") : late) });
  const { result } = await host.call("sessions_spawn", { task: "?", agentId: "ops", runTimeoutSeconds: 1, announce: "none" }, "agent:main:main");
  const child = () => host.call("sessions_history", { sessionKey: result.childSessionKey }, "agent:main:main");
  await time(Date.now() + 1200);
  ends("Too late.");
  await late;
  assert.equal((await child()).result.messages.length, 1);
});

test("two calls at the same time", async () => {
  const { host } = await start({ main: says("REPLY_SKIP"), ops: says("One.", "ANNOUNCE_SKIP") });
  const [list, send] = await Promise.all([
    host.call("sessions_list", {}, "agent:main:main"),
    host.call("sessions_send", { sessionKey: "agent:ops:main", message: "?" }, "agent:main:main"),
  ]);
  assert.equal(list.result.count, 3);
  assert.equal(send.result.reply, "One.");
  await host.idle();
});

test("a run calls tools as its session, but does not wait for who waits for it", async () => {
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
  assert.equal(answered.status, "accepted", "it would have waited for itself");
  await host.idle();
});

test("a call that fails is refused, and one that is wrong is answered", async () => {
  const { host } = await start({ main: says(), ops: says() });
  await assert.rejects(host.call("sessions_sent", {}, "agent:main:main"), { name: "ParleyError", code: "not_found" });
  const { result, code } = await host.call("sessions_send", { sessionKey: "agent:none:main", message: "x" }, "agent:main:main");
  assert.deepEqual([result.status, code], ["error", "not_found"]);
});

test("a gateway like OpenClaw registers the tools, for each session", async () => {
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

test("a message says where it comes from", async () => {
  const { host } = await start({ main: says("REPLY_SKIP"), ops: says("Yes.", "ANNOUNCE_SKIP") });
  await send(host, "agent:ops:main");
  const { result } = await host.call("sessions_history", { sessionKey: "agent:ops:main" }, main);
  assert.deepEqual(result.messages[0].provenance, { kind: "inter_session", sourceSessionKey: "main", sourceChannel: "telegram", sourceTool: "sessions_send" });
  await host.idle();
});

test("only so many children are at work", async () => {
  let ends;
  const busy = new Promise((resolve) => { ends = resolve; });
  const { host } = await start({ main: () => busy, ops: says() }, { change: ({ config }) => (config.agents.defaults = { subagents: { maxChildrenPerAgent: 1 } }) });
  const spawn = async () => (await host.call("sessions_spawn", { task: "?", cleanup: "delete" }, main)).result.status;
  assert.deepEqual([await spawn(), await spawn()], ["accepted", "forbidden"]);
  ends("ANNOUNCE_SKIP");
  await host.idle();
});

test("a session that is closed takes no messages", async () => {
  const { host } = await start({ main: says(), ops: says() }, { change: ({ sessions }) => (sessions[1].session.sendPolicy = "deny") });
  assert.equal((await send(host, "agent:ops:main")).result.status, "forbidden");
  await host.add({ key: "agent:ops:main", agentId: "ops", sessionId: "s-ops", updatedAt: 1 }, []);
  assert.equal((await send(host, "agent:ops:main", { timeoutSeconds: 0, announce: "none" })).result.status, "accepted");
});

test("a run's call is one flow further", async () => {
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

test("a report goes to where its requester spoke", async () => {
  const places = [];
  let ends;
  const texts = [new Promise((resolve) => { ends = resolve; }), "Result: done"];
  const { host } = await start({ main: async () => texts.shift(), ops: says() }, { deliver: async ({ target }) => places.push(target) });
  await host.call("sessions_spawn", { task: "?", cleanup: "delete" }, main);
  await host.add({ key: main, agentId: "main", sessionId: "s-main", updatedAt: 1, deliveryContext: { channel: "telegram", to: "8" } });
  ends("Done.");
  await host.idle();
  assert.deepEqual(places, [{ channel: "telegram", to: "7" }]);
});

test("a delivery that fails is parked", async () => {
  const { host } = await start({ main: says("REPLY_SKIP"), ops: says("Yes.", "Said.") }, { deliver: async () => { throw new Error("the channel is down"); } });
  await send(host, "agent:ops:main");
  await host.idle();
  assert.deepEqual(host.parked.map(({ error }) => error.message), ["the channel is down"]);
});

test("agents that end in odd ways end", async () => {
  const odd = [async () => undefined, async () => { throw null; }, () => { throw new Error("no"); }, async () => { throw "text"; }];
  const { host } = await start({ main: says(), ops: (run, signal) => odd.shift()(run, signal) });
  const statuses = [];
  while (odd.length > 0) statuses.push((await send(host, "agent:ops:main", { announce: "none" })).result.status);
  assert.deepEqual(statuses, ["ok", "error", "error", "error"]);
  await host.idle();
  assert.deepEqual(host.parked, []);
});

test("a step that fails parks its flow", async () => {
  const { host, checked } = await start({ main: says("REPLY_SKIP"), ops: says("Yes.", "ANNOUNCE_SKIP") });
  const { call } = checked.plugin;
  checked.plugin.call = (name, ...rest) => (name === "resume" ? Promise.reject(new Error("down")) : call(name, ...rest));
  await assert.rejects(send(host, "agent:ops:main"), /down/);
  await host.idle();
  assert.deepEqual(host.parked.map(({ id }) => id), ["flow-1"]);
});

test("who calls is a session that is there", async () => {
  const { host } = await start({});
  await assert.rejects(host.call("sessions_list", {}, "agent:none:main"), /there is no session agent:none:main/);
});

test("after a trap there is another instance", async () => {
  const plugin = await Plugin.load(unreachable);
  for (let i = 0; i < 3; i++) await assert.rejects(plugin.call("call", "{}"), { name: "RuntimeError", message: "unreachable" });
  await plugin.close();
});

test("failures are shown, and the plugin answers after each", async () => {
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
