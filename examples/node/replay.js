// Replays recordings: node replay.js [DIR]
//
// For each recorded input, the plugin must make the recorded host calls, gets the
// recorded replies, and must return the recorded output: testdata/recordings/README.md.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "lossless-json";

import { difference } from "./exact.js";
import { Plugin, version } from "./plugin.js";

const recordings = fileURLToPath(new URL("../../testdata/recordings", import.meta.url));

// Writes texts in the recorder's spelling, because the plugin counts the bytes of messages.
const write = (value) => stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");

/** Replays a recording parsed by lossless-json, and returns a line for each difference. */
export async function replay(plugin, { exchanges }) {
  const problems = [];
  for (const [i, { export: name, input, calls, output }] of exchanges.entries()) {
    const at = `/exchanges/${i}`;
    const compare = (path, got, want) => problems.push(...difference(parse(got), want, at + path));
    let made = 0;
    try {
      const got = await plugin.call(name, write(input), (namespace, request) => {
        const want = calls[made];
        if (!want) throw new Error(`${at}/calls/${made}: ${namespace} ${request} was not recorded`);
        if (namespace !== want.family) problems.push(`${at}/calls/${made}/family: ${namespace}, want ${want.family}`);
        compare(`/calls/${made++}/request`, request, want.request);
        return write(want.reply);
      });
      if (made !== calls.length) problems.push(`${at}/calls: ${made} were made, want ${calls.length}`);
      compare("/output", got, output);
    } catch (e) {
      problems.push(`${at}: ${e.message}`);
    }
  }
  return problems;
}

/** Replays all recordings below a folder: {passed, failed}. */
export async function replayAll(plugin, dir, print = console.log) {
  const count = { passed: 0, failed: 0 };
  for (const entry of (await readdir(dir, { recursive: true })).sort()) {
    if (!entry.endsWith(".json") || entry.endsWith("index.json")) continue;
    for (const recording of parse(await readFile(join(dir, entry), "utf8"))) {
      const problems = await replay(plugin, recording);
      count[problems.length ? "failed" : "passed"]++;
      for (const problem of problems) print(`${recording.id}: ${problem}`);
    }
  }
  return count;
}

if (import.meta.filename === process.argv[1]) {
  console.log(await version());
  const plugin = await Plugin.load();
  const { passed, failed } = await replayAll(plugin, process.argv[2] ?? recordings);
  await plugin.close();
  console.log(`${passed} passed, ${failed} failed`);
  if (failed || !passed) process.exitCode = 1;
}
