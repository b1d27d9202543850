import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { deriveRequest } from "../host.js";
import { Plugin } from "../plugin.js";
import { Store } from "../store.js";

const { config, sessions, cases } = JSON.parse(await readFile(new URL("../../store.json", import.meta.url)));

let plugin;
const store = new Store();
before(async () => {
  plugin = await Plugin.load();
  for (const { session, messages } of sessions) {
    const { result: context } = await plugin.ask("derive", deriveRequest(session, undefined, config));
    store.put(session, context, messages);
  }
});
after(() => plugin.close());

const seqs = (messages) => messages?.map(({ seq }) => seq);

for (const { name, request: { op, ...request }, ...want } of cases) {
  test(`${op}: ${name}`, () => {
    const { rows, messages, session, more } = store[op](request);
    const got = {
      rows: rows?.map((row) => row.session.key),
      seqs: seqs(messages ?? (request.messages && rows[0].messages)),
      session: session === undefined ? undefined : (session?.key ?? null),
      more,
    };
    assert.deepEqual(got, { rows: want.rows, seqs: want.seqs, session: want.session, more: want.more });
  });
}
