// Makes the calls of ../fixture.json in a host, and prints the results, runs and deliveries.
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { Host } from "./host.js";

const fixture = JSON.parse(await readFile(new URL("../fixture.json", import.meta.url)));
const first = (text) => text.split(/[.\n]/, 1)[0];
const events = [];

// Summaries of the tools' results.
const summaries = {
  sessions_list: ({ sessions }) => sessions.map(({ key, kind }) => `${key} (${kind})`).join(", "),
  sessions_history: ({ messages }) => messages.map(({ role, content }) => `${role} "${typeof content === "string" ? content : content[0].text}"`).join(", "),
  sessions_send: ({ status, reply, error }) => `${status}: ${reply ?? error}`,
  sessions_spawn: ({ status, childSessionKey }) => `${status}: ${childSessionKey}`,
};

// An agent that gives the listed replies in order.
const scripted = (replies) => async ({ sessionKey, message }) => {
  const { text, seconds = 0 } = replies.shift();
  await sleep(seconds * 1000);
  events.push(`run in ${sessionKey}: ${first(message)} -> ${text.split("\n", 1)[0]}`);
  return text;
};

const host = await Host.start({
  config: fixture.config,
  sessions: fixture.sessions,
  agents: Object.fromEntries(Object.entries(fixture.replies).map(([id, replies]) => [id, scripted(replies)])),
  deliver: async ({ allowed, target, reason }, text) => {
    events.push(allowed ? `delivered to ${target.channel} ${target.to}: ${text.replaceAll("\n", " | ")}` : `not delivered: ${reason}`);
  },
});

for (const { tool, args } of fixture.calls) {
  const { result } = await host.call(tool, args, "agent:main:main");
  console.log(`${tool}: ${summaries[tool](result)}`);
  await host.idle();
  for (const line of events.splice(0)) console.log(`  ${line}`);
}
