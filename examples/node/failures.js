// Shows how failures look, and that the plugin is usable after each.
import { ParleyError, Plugin } from "./plugin.js";

const now = 1780000000000;
const call = (tool, args) => ({
  abi: 1, flowId: "f1", step: 1, callId: "c1", now, acceptedAt: now, tool, args, config: {},
  caller: { sessionKey: "agent:main:main", agentId: "main", sandboxed: false, depth: 0, hops: 0 },
});
const empty = { store: { list: () => ({ rows: [], more: false }), history: () => ({ messages: [], more: false }), get: () => ({ session: null }) } };
const down = { store: { list: () => { throw new Error("the store is down"); } } };

async function show(what, plugin, input, functions, check = plugin) {
  try {
    const { result, code } = await plugin.ask("call", input, functions);
    console.log(`${what}: ${code}: ${result.error}`);
  } catch (e) {
    console.log(`${what}: ${e.name}${e instanceof ParleyError ? ` ${e.code}` : ""}: ${e.message}`);
  }
  const { result } = await check.ask("call", call("sessions_list", {}), empty);
  if (result.count !== 0) throw new Error("it does not answer");
  console.log("  and the plugin still answers");
}

// (module (func (export "call") (result i32) unreachable))
const unreachable = Uint8Array.from([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7f, 3, 2, 1, 0, 7, 8, 1, 4, 0x63, 0x61, 0x6c, 0x6c, 0, 0, 10, 5, 1, 3, 0, 0, 0x0b,
]);

const plugin = await Plugin.load();
const trap = await Plugin.load(unreachable);
await show("a trap", trap, call("sessions_list", {}), empty, plugin);
await show("a host function that fails", plugin, call("sessions_list", {}), down);
await show("an unknown tool", plugin, call("sessions_lists", {}), empty);
await show("a bad argument", plugin, call("sessions_list", { limit: "ten" }), empty);
await Promise.all([plugin.close(), trap.close()]);
