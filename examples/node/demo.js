// Runs the calls of ../world.json in a host, and prints what happened.
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { Host } from "./host.js";

const world = JSON.parse(await readFile(new URL("../world.json", import.meta.url)));
const first = (text) => text.split(/[.\n]/, 1)[0];
const happened = [];

// What of a tool's result is worth a line.
const brief = {
  sessions_list: ({ sessions }) => sessions.map(({ key, kind }) => `${key} (${kind})`).join(", "),
  sessions_history: ({ messages }) => messages.map(({ role, content }) => `${role} "${typeof content === "string" ? content : content[0].text}"`).join(", "),
  sessions_send: ({ status, reply, error }) => `${status}: ${reply ?? error}`,
  sessions_spawn: ({ status, childSessionKey }) => `${status}: ${childSessionKey}`,
};

// An agent that says what is written down, one text after the other.
const scripted = (replies) => async ({ sessionKey, message }) => {
  const { text, seconds = 0 } = replies.shift();
  await sleep(seconds * 1000);
  happened.push(`run in ${sessionKey}: ${first(message)} -> ${text.split("\n", 1)[0]}`);
  return text;
};

const host = await Host.start({
  config: world.config,
  sessions: world.sessions,
  agents: Object.fromEntries(Object.entries(world.replies).map(([id, replies]) => [id, scripted(replies)])),
  deliver: async ({ allowed, target, reason }, text) => {
    happened.push(allowed ? `delivered to ${target.channel} ${target.to}: ${text.replaceAll("\n", " | ")}` : `not delivered: ${reason}`);
  },
});

for (const { tool, args } of world.calls) {
  const { result } = await host.call(tool, args, "agent:main:main");
  console.log(`${tool}: ${brief[tool](result)}`);
  await host.idle();
  for (const line of happened.splice(0)) console.log(`  ${line}`);
}
