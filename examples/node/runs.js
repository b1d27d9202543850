// Runs of agents. Those of one session come one after the other.
import { setTimeout as sleep } from "node:timers/promises";

export class Runs {
  #store;
  #agents;
  #runs = new Map();
  #last = new Map(); // session key → the run that is behind all others

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

  /** How many children of a session are at work. */
  active(parent) {
    return [...this.#runs.values()].filter((run) => run.parent === parent && !run.endedAt).length;
  }

  busy(sessionKey) {
    return this.#last.has(sessionKey) && !this.#last.get(sessionKey).endedAt;
  }

  /** Notes which run an unanswered call of a run waits for. */
  waits(caller, awaited) {
    if (caller) this.#runs.get(caller).awaited = this.#runs.get(awaited);
  }

  /** Whether a run of the session waits for this one, itself or through others. */
  leads(sessionKey, id) {
    if (!id) return false; // no run asks
    const waits = (run) => !!run && !run.endedAt && (run.id === id || waits(run.awaited) || waits(run.ahead));
    return waits(this.#last.get(sessionKey));
  }

  async #execute(run) {
    const row = this.#store.row(run.sessionKey);
    run.status = "running";
    run.startedAt = Date.now();
    this.#store.say(run.sessionKey, "user", run.message, { provenance: run.provenance });
    const timer = new AbortController();
    try {
      if (!row || row.session.archivedAt) throw new Error("the session is gone, or archived");
      const late = run.timeoutSeconds && sleep(run.timeoutSeconds * 1000, null, { signal: timer.signal }).then(() => (run.status = "timeout"), () => {});
      const answer = this.#agents[row.session.agentId](run).then((text) => {
        run.reply = text.trim();
        run.status = "done";
      });
      await Promise.race([answer, late].filter(Boolean));
    } catch (e) {
      run.status = "failed";
      run.error = e.message;
    }
    timer.abort();
    run.endedAt = Date.now();
    if (run.reply) this.#store.say(run.sessionKey, "assistant", run.reply);
    if (row && !run.noTools) row.session.status = run.status;
  }
}

class Run {
  status = "queued";

  constructor(task, ahead) {
    Object.assign(this, task, { ahead });
  }

  /** What the plugin is told. */
  facts() {
    const { id, status, reply, error, startedAt, endedAt } = this;
    return { id, status, reply, error, startedAt, endedAt };
  }
}
