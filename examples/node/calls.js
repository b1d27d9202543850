// Calls sessions_list N times on one instance: node --expose-gc calls.js [N]
// Fails if the memory of the process grows.
import { Plugin, version } from "./plugin.js";

const total = Number(process.argv[2] ?? 100_000);
const now = 1780000000000;
const input = JSON.stringify({
  abi: 1, flowId: "f1", step: 1, callId: "c1", now, acceptedAt: now, tool: "sessions_list", args: {}, config: {},
  caller: { sessionKey: "agent:main:main", agentId: "main", sandboxed: false, depth: 0, hops: 0 },
});
const reply = JSON.stringify({ ok: { rows: [{ session: { key: "agent:main:main", agentId: "main", sessionId: "s1", updatedAt: now } }], more: false } });

const mebibytes = (bytes) => bytes / (1 << 20);
const resident = () => {
  globalThis.gc?.();
  return mebibytes(process.memoryUsage.rss());
};

console.log(await version());
const plugin = await Plugin.load();
let first;
const start = performance.now();
for (let n = 1; n <= total; n++) {
  const output = await plugin.call("call", input, () => reply);
  if (!output.startsWith('{"result":{"count":1,')) throw new Error(output);
  if (n % (total / 10) === 0) {
    first ??= resident();
    console.error(`${n} calls, ${resident().toFixed(1)} MiB`);
  }
}
const rate = total / ((performance.now() - start) / 1000);
const last = resident();
console.log(`${total} calls, ${Math.round(rate)} calls/s, memory ${first.toFixed(1)} MiB after the first tenth, ${last.toFixed(1)} MiB at the end`);
await plugin.close();
if (last > 1.1 * first + 4) {
  console.error("memory grows");
  process.exitCode = 1;
}
