import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { Plugin } from "../plugin.js";
import { replay, replayAll } from "../replay.js";

const recordings = new URL("../../../testdata/recordings/", import.meta.url);
let plugin;
let recorded;
before(async () => {
  plugin = await Plugin.load();
  recorded = await readFile(new URL("S4.3/ok.json", recordings), "utf8");
});
after(() => plugin.close());

test("what was recorded", async () => {
  assert.deepEqual(await replay(plugin, recorded), []);
});

for (const [what, change] of Object.entries({
  "another request": (x) => (x.calls[0].request.op = "gets"),
  "another family": (x) => (x.calls[0].family = "deliver"),
  "another output": (x) => (x.output.result = { status: "error" }),
  "a call less": (x) => x.calls.pop(),
  "a call more": (x) => x.calls.push(x.calls[0]),
  "an input that is refused": (x) => (x.input.abi = 2),
})) {
  test(`fails on ${what}`, async () => {
    const recording = JSON.parse(recorded);
    change(recording.exchanges[0]);
    assert.notDeepEqual(await replay(plugin, JSON.stringify(recording)), []);
    assert.deepEqual(await replay(plugin, recorded), [], "and the next one passes");
  });
}

test("a folder without recordings", async () => {
  assert.deepEqual(await replayAll(plugin, new URL(".", import.meta.url).pathname), { passed: 0, failed: 0 });
});
