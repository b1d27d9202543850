// Replays recorded steps in one plugin instance of the Extism SDK, and prints ten
// readings of its memory, a JSON object a line:
//
//   node --expose-gc soak.mjs MODULE STEPS EXCHANGE…
//
// The exchanges are as in testdata/recordings; of a hundred steps one takes the
// last of them, the others the first. Every output is compared.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import createPlugin from "@extism/extism";

const [module, total, ...files] = process.argv.slice(2);
const steps = Number(total);
const exchanges = files.map((file) => {
  const { export: name, input, calls, output } = JSON.parse(readFileSync(file, "utf8"));
  return { name, input: JSON.stringify(input), replies: calls.map((c) => JSON.stringify(c.reply)), output };
});

let replies = [];
let next = 0;
const family = (call) => call.store(replies[next++]);
const plugin = await createPlugin(
  { wasm: [{ data: readFileSync(module) }] },
  { functions: { "extism:host/user": { store: family, agent: family, deliver: family } } },
);
const { memory } = (await plugin.getInstance()).exports;

for (let step = 1; step <= steps; step++) {
  const x = step % 100 === 0 ? exchanges.at(-1) : exchanges[0];
  replies = x.replies;
  next = 0;
  const text = (await plugin.call(x.name, x.input)).text();
  // This SDK keeps the blocks of all calls until it is told otherwise, and fails
  // when there are 32,768.
  await plugin.reset();
  // The first output is compared with the record, and the others with the first.
  if (x.text === undefined) {
    if (!isDeepStrictEqual(JSON.parse(text), x.output)) throw new Error(`the output is not what was recorded: ${text}`);
    x.text = text;
  } else if (text !== x.text) {
    throw new Error(`step ${step}: another output than before: ${text}`);
  }
  if (next !== replies.length) throw new Error(`step ${step}: ${next} host calls, ${replies.length} were recorded`);
  if (step % (steps / 10) === 0) {
    globalThis.gc();
    console.log(JSON.stringify({ steps: step, resident: process.memoryUsage.rss(), guest: memory.buffer.byteLength }));
  }
}
await plugin.close();
