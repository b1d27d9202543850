// Shows each kind of failure, and that the plugin is usable afterwards.
import { ParleyError, Plugin } from "./plugin.js";
import { unreachable } from "./unreachable.js";

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
  if (result.count !== 0) throw new Error("the plugin does not answer");
  console.log("  and the plugin still answers");
}

const plugin = await Plugin.load();
const trap = await Plugin.load(unreachable);
await show("a trap", trap, call("sessions_list", {}), empty, plugin);
await show("a host function that fails", plugin, call("sessions_list", {}), down);
await show("an unknown tool", plugin, call("sessions_lists", {}), empty);
await show("a bad argument", plugin, call("sessions_list", { limit: "ten" }), empty);
await Promise.all([plugin.close(), trap.close()]);
