// Runs of agents. The runs of one session are serial.
import { sleepUntil } from "./time.js";

export class Runs {
  #store;
  #agents;
  #runs = new Map();
  #last = new Map(); // session key → the last run of its queue

  constructor(store, agents) {
    this.#store = store;
    this.#agents = agents;
  }

  get(id) {
    return this.#runs.get(id);
  }

  queue(task) {
    const run = new Run(task, this.#last.get(task.sessionKey));
    this.#runs.set(run.id, run);
    this.#last.set(run.sessionKey, run);
    run.ended = Promise.resolve(run.ahead?.ended).then(() => this.#execute(run));
  }

  /** Returns the number of active children of a session. */
  active(parent) {
    return [...this.#runs.values()].filter((run) => run.parent === parent && !run.endedAt).length;
  }

  busy(sessionKey) {
    return this.#last.has(sessionKey) && !this.#last.get(sessionKey).endedAt;
  }

  /** Records the run that a flow's unanswered call waits for, or undefined if the call waits no longer. */
  setAwaited({ flowId, caller }, awaited) {
    const run = this.#runs.get(caller.runId);
    if (awaited) run?.awaited.set(flowId, this.#runs.get(awaited));
    else run?.awaited.delete(flowId);
  }

  /** The deadlock check: whether a run of the session waits for this run, directly or through others. */
  wouldBlock(sessionKey, id) {
    if (!id) return false; // the caller is not a run
    const waits = (run) => !!run && !run.endedAt && (run.id === id || waits(run.ahead) || [...run.awaited.values()].some(waits));
    return waits(this.#last.get(sessionKey));
  }

  async #execute(run) {
    const over = new AbortController();
    run.startedAt = Date.now();
    run.status = "running";
    try {
      const { session } = this.#store.row(run.sessionKey) ?? {};
      if (!session || session.archivedAt) throw new Error("the session was deleted or archived");
      const agent = this.#agents[session.agentId];
      if (!agent) throw new Error(`agent ${session.agentId} does not exist`);
      this.#store.append(run.sessionKey, "user", run.message, { provenance: run.provenance });
      run.reply = ((await Promise.race([agent(run, over.signal), late(run, over.signal)])) ?? "").trim();
      run.status = "done";
      if (run.reply) this.#store.append(run.sessionKey, "assistant", run.reply);
    } catch (e) {
      run.status = e instanceof TimeoutError ? "timeout" : "failed";
      run.error = String(e?.message ?? e);
    }
    over.abort();
    run.endedAt = Date.now();
    run.ahead = undefined;
    const row = this.#store.row(run.sessionKey);
    if (row && !run.noTools) row.session.status = run.status;
  }
}

class TimeoutError extends Error {}

/** Rejects when a run with a time limit has exceeded it. */
async function late({ startedAt, timeoutSeconds }, signal) {
  await (timeoutSeconds ? sleepUntil(startedAt + timeoutSeconds * 1000, signal) : new Promise(() => {}));
  throw new TimeoutError(`the run took longer than ${timeoutSeconds} s`);
}

class Run {
  status = "queued";
  awaited = new Map(); // flow → the run that its unanswered call waits for

  constructor(task, ahead) {
    Object.assign(this, task, { ahead });
  }

  /** Returns the members that the plugin receives. */
  forPlugin() {
    const { id, status, reply, error, startedAt, endedAt } = this;
    return { id, status, reply, error, startedAt, endedAt };
  }
}
