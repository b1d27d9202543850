// A host of Parley. A gateway keeps the store, the runs and the flows in its database: it
// writes the effects of a step and the flow's new state in one transaction.
import { ParleyError, Plugin } from "./plugin.js";
import { Runs } from "./runs.js";
import { Store } from "./store.js";
import { sleepUntil } from "./time.js";

export class Host {
  tools; // as the plugin describes them
  parked = []; // flows and deliveries that failed

  #plugin;
  #config;
  #deliver;
  #store = new Store();
  #runs;
  #pending = new Set(); // promises of flows and deliveries
  #calls = 0;
  #turn = Promise.resolve();

  /**
   * agents answer runs: {agentId: async ({sessionKey, message, context}, signal) => text};
   * the signal is aborted when the run has ended.
   * deliver posts a text: async ({allowed, target, reason}, text, id); equal ids are one delivery.
   */
  static async start({ config, sessions, agents, deliver, plugin }) {
    const host = new Host();
    host.#plugin = plugin ?? (await Plugin.load());
    const { abi, tools } = await host.#plugin.ask("describe");
    if (abi !== 1) throw new Error(`the module implements ABI version ${abi}; this host supports version 1`);
    host.tools = tools;
    host.#config = config;
    host.#deliver = deliver;
    host.#runs = new Runs(host.#store, agents);
    for (const { session, messages } of sessions) await host.add(session, messages);
    return host;
  }

  /** Stores a new or changed session, and derives its context. */
  add(session, messages) {
    return this.#exclusive(() => this.#add(session, messages));
  }

  /** Calls a tool as a session, or as a run in it: {result, code?}. The flow continues after the answer. */
  async call(tool, args, sessionKey, run) {
    const row = this.#store.row(sessionKey);
    if (!row) throw new Error(`session ${sessionKey} does not exist`);
    const caller = { ...row.context.caller, ...(run && { runId: run.id, hops: run.hops }) };
    const flow = { abi: 1, flowId: `flow-${++this.#calls}`, acceptedAt: Date.now(), caller, config: this.#config };
    const out = await this.#step("call", { ...flow, step: 1, callId: flow.flowId, tool, args }, tool);
    return new Promise((answer, fail) => {
      const done = this.#advance(flow, tool, out, answer).catch((error) => {
        this.#runs.setAwaited(flow, undefined);
        fail(error); // no effect if the call has been answered
        throw error;
      });
      this.#track(flow.flowId, done);
    });
  }

  /** Waits until all flows and deliveries have ended. A flow may wait for an hour to archive a child. */
  async idle() {
    const awake = setInterval(() => {}, 60_000); // the timer of a waiting flow does not keep the process alive
    while (this.#pending.size > 0) await Promise.all(this.#pending);
    clearInterval(awake);
  }

  #track(id, work) {
    const done = work.catch((error) => this.parked.push({ id, error })).finally(() => this.#pending.delete(done));
    this.#pending.add(done);
  }

  /** Executes the further steps of a flow, until one of them returns no wait. */
  async #advance(flow, tool, out, answer) {
    for (let step = 2, answered = false; ; step++) {
      if (out.result) answer({ result: out.result, code: out.code });
      answered ||= !!out.result;
      this.#runs.setAwaited(flow, answered ? undefined : out.wait?.run);
      if (!out.wait) return;
      const { run, until, state, stateVersion } = out.wait;
      const event = await this.#event(this.#runs.get(run), until);
      out = await this.#step("resume", { ...flow, step, state, stateVersion, event }, tool);
    }
  }

  /** Waits for the end of the run or for the time. If both are due, the run wins. */
  async #event(run, until) {
    const timer = new AbortController();
    await Promise.race([run?.ended, until && sleepUntil(until, timer.signal, !!run)].filter(Boolean));
    timer.abort();
    const at = Date.now();
    return run?.endedAt ? { type: "run", at, run: run.forPlugin() } : { type: "time", at };
  }

  /** Executes one step and commits its effects, before the state that it has read can change. */
  #step(name, input, tool) {
    return this.#exclusive(async () => {
      const effects = [];
      const out = await this.#plugin.ask(name, { ...input, now: Date.now() }, this.#functions(input, tool, effects));
      for (const effect of effects) await effect();
      return out;
    });
  }

  /** Serializes work: the plugin takes one call at a time. */
  #exclusive(work) {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** The host functions of a step. Reads answer; writes are checked, and recorded as effects. */
  #functions({ flowId, step, caller }, tool, effects) {
    const store = this.#store;
    const runs = this.#runs;
    const children = new Set(); // keys of the sessions that this step creates
    const id = () => `${flowId}-${step}-${effects.length + 1}`;
    const record = (reply, effect) => {
      effects.push(effect);
      return reply;
    };
    const stored = (sessionKey) => store.row(sessionKey) ?? refuse("not_found", `session ${sessionKey} does not exist`);
    const idle = (sessionKey) => {
      stored(sessionKey);
      if (runs.busy(sessionKey)) refuse("conflict", `a run of ${sessionKey} has not ended`);
      return {};
    };
    return {
      store: {
        get: (q) => store.get(q),
        resolve: (q) => store.resolve(q),
        list: (q) => store.list(q),
        history: (q) => store.history(q),
        create: ({ agentId, label, model, thinkingLevel, maxActive }) => {
          if (runs.active(caller.sessionKey) + children.size >= maxActive) refuse("forbidden", `${caller.sessionKey} has reached its limit of ${maxActive} active children`);
          const child = {
            key: `agent:${agentId}:subagent:${id()}`, agentId, sessionId: id(), updatedAt: Date.now(),
            spawnedBy: caller.sessionKey, sandboxed: caller.sandboxed, label, modelOverride: model, thinkingLevel,
          };
          children.add(child.key);
          return record({ sessionKey: child.key, sessionId: child.sessionId }, () => this.#add(child));
        },
        archive: ({ sessionKey }) => record(idle(sessionKey), () => (store.row(sessionKey).session.archivedAt ??= Date.now())),
        delete: ({ sessionKey }) => record(idle(sessionKey), () => store.delete(sessionKey)),
      },
      agent: {
        status: ({ runId }) => ({ run: runs.get(runId)?.forPlugin() ?? null }),
        waits: ({ sessionKey }) => ({ waits: runs.wouldBlock(sessionKey, caller.runId) }),
        run: ({ sessionKey, source = caller.sessionKey, group, ...task }) => {
          if (!children.has(sessionKey)) {
            const { session, context } = stored(sessionKey);
            if (session.archivedAt) refuse("not_found", `session ${sessionKey} is archived`);
            if (!context.receive.allowed) refuse("forbidden", context.receive.reason);
          }
          const provenance = { kind: "inter_session", sourceSessionKey: source, sourceChannel: store.row(source)?.context.channel, sourceTool: tool };
          const run = { ...task, id: id(), sessionKey, provenance, hops: caller.hops + 1, parent: group === "subagent" ? caller.sessionKey : undefined };
          return record({ runId: run.id }, () => runs.queue(run));
        },
      },
      deliver: {
        send: ({ sessionKey, text, atCall }) => {
          stored(sessionKey);
          const { channel, to, accountId, threadId } = caller;
          const deliveryId = id();
          return record({ deliveryId }, () =>
            this.#track(deliveryId, this.#post(sessionKey, atCall ? { channel, to, accountId, threadId } : undefined, text, deliveryId)));
        },
      },
    };
  }

  async #add(session, messages) {
    this.#store.put(session, await this.#derive(session), messages);
  }

  async #derive(session, target) {
    return (await this.#plugin.ask("derive", deriveRequest(session, target, this.#config))).result;
  }

  /** Determines the destination and the send policy when a text is posted: both may have changed since the step. */
  async #post(sessionKey, target, text, id) {
    const session = this.#store.row(sessionKey)?.session ?? { key: sessionKey };
    const { deliver } = await this.#exclusive(() => this.#derive(session, target));
    await this.#deliver(deliver, text, id);
  }
}

function refuse(code, message) {
  throw new ParleyError({ code, message });
}

// The members of a session in version 1 (abi/README.md, section 4).
const members = [
  "key", "agentId", "kind", "sessionId", "updatedAt", "label", "displayName", "subject", "chatType",
  "channel", "deliveryContext", "lastChannel", "lastTo", "lastAccountId", "lastThreadId", "model",
  "modelOverride", "contextTokens", "totalTokens", "thinkingLevel", "verboseLevel", "systemSent",
  "abortedLastRun", "sendPolicy", "spawnedBy", "sandboxed", "status", "archivedAt", "transcriptPath",
];

/** The input of derive, which refuses unknown members of a session: those of later versions are omitted. */
export function deriveRequest(session, target, config) {
  const known = Object.fromEntries(members.filter((name) => name in session).map((name) => [name, session[name]]));
  return { abi: 1, session: known, target, config };
}
