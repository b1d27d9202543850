// Replays recorded steps in one plugin instance of the Extism SDK, and prints ten
// readings of its memory, a JSON object a line:
//
//   node --expose-gc soak.mjs MODULE STEPS EXCHANGE…
//
// An exchange is a file with one exchange of a recording in testdata/recordings. Every
// hundredth step replays the last of them, the other steps the first. Every output is
// compared.
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
const hostFunction = (call) => call.store(replies[next++]);
const plugin = await createPlugin(
  { wasm: [{ data: readFileSync(module) }] },
  { functions: { "extism:host/user": { store: hostFunction, agent: hostFunction, deliver: hostFunction } } },
);
const { memory } = (await plugin.getInstance()).exports;

for (let step = 1; step <= steps; step++) {
  const x = step % 100 === 0 ? exchanges.at(-1) : exchanges[0];
  replies = x.replies;
  next = 0;
  const text = (await plugin.call(x.name, x.input)).text();
  // This SDK keeps the memory blocks of all calls until reset is called, and fails at
  // 32,768 blocks.
  await plugin.reset();
  // The first output is compared with the recording, the others with the first.
  if (x.text === undefined) {
    if (!isDeepStrictEqual(JSON.parse(text), x.output)) throw new Error(`the output differs from the recording: ${text}`);
    x.text = text;
  } else if (text !== x.text) {
    throw new Error(`step ${step}: the output differs from earlier steps: ${text}`);
  }
  if (next !== replies.length) throw new Error(`step ${step}: ${next} host calls, want ${replies.length}`);
  if (step % (steps / 10) === 0) {
    globalThis.gc();
    console.log(JSON.stringify({ steps: step, resident: process.memoryUsage.rss(), guest: memory.buffer.byteLength }));
  }
}
await plugin.close();
