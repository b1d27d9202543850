import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse, stringify } from "lossless-json";

import { Plugin } from "../plugin.js";
import { replay, replayAll } from "../replay.js";

const file = new URL("../../../testdata/recordings/S4.3.json", import.meta.url);
const id = "S4.3/ok";
let plugin;
let text;
before(async () => {
  plugin = await Plugin.load();
  text = await readFile(file, "utf8");
});
after(() => plugin.close());

// Returns a new copy of the recording.
const recorded = () => parse(text).find((recording) => recording.id === id);

test("passes on the recording", async () => {
  assert.deepEqual(await replay(plugin, recorded()), []);
});

for (const [what, change] of Object.entries({
  "another request": (x) => (x.calls[0].request.op = "gets"),
  "another namespace": (x) => (x.calls[0].family = "deliver"),
  "another output": (x) => (x.output.result = { status: "error" }),
  "a call less": (x) => x.calls.pop(),
  "a call more": (x) => x.calls.push(x.calls[0]),
  "an input that is refused": (x) => (x.input.abi = 2),
})) {
  test(`fails on ${what}`, async () => {
    const recording = recorded();
    change(recording.exchanges[0]);
    assert.notDeepEqual(await replay(plugin, recording), []);
    assert.deepEqual(await replay(plugin, recorded()), [], "the next replay must pass");
  });
}

test("a file with a failing and a passing recording", async () => {
  const dir = await mkdtemp(join(tmpdir(), "replay-"));
  const changed = recorded();
  changed.exchanges[0].output.result = { status: "error" };
  await writeFile(join(dir, "S4.3.json"), stringify([changed, recorded()]));
  const lines = [];
  assert.deepEqual(await replayAll(plugin, dir, (line) => lines.push(line)), { passed: 1, failed: 1 });
  assert.ok(lines.length > 0 && lines.every((line) => line.startsWith(`${id}: /exchanges/0/output`)), lines.join("\n"));
  await rm(dir, { recursive: true });
});

test("a folder without recordings", async () => {
  assert.deepEqual(await replayAll(plugin, new URL(".", import.meta.url).pathname), { passed: 0, failed: 0 });
});
