// Sessions in memory, and the reading host functions: section 4 of abi/README.md.

export class Store {
  #rows = new Map(); // key → {session, context, messages}

  /** context is derive's answer for the session. It changes only with the session and the settings, so it is stored with the session. */
  put(session, context, messages = []) {
    this.#rows.set(session.key, { session, context, messages });
  }

  row(key) {
    return this.#rows.get(key);
  }

  delete(key) {
    this.#rows.delete(key);
  }

  append(key, role, text, more) {
    const row = this.#rows.get(key);
    if (!row) return; // deleted meanwhile
    row.messages.push({ role, content: [{ type: "text", text }], timestamp: Date.now(), ...more });
    row.session.updatedAt = Date.now();
  }

  get({ sessionKey }) {
    return { session: this.#rows.get(sessionKey)?.session ?? null };
  }

  resolve({ sessionId, scope }) {
    return { session: this.#visible(scope).find(({ session }) => session.sessionId === sessionId)?.session ?? null };
  }

  list({ scope, after, kinds, agentId, label, search = "", activeSince = 0, includeArchived, limit, messages }) {
    const rows = this.#visible(scope).filter(({ session: s, context }) =>
      (includeArchived || !s.archivedAt) && s.updatedAt >= activeSince
      && (!kinds?.length || kinds.includes(context.kind)) && (!agentId || agentId === s.agentId) && (!label || label === s.label)
      && [s.key, s.label, s.displayName, s.subject].some((name) => name?.toLowerCase().includes(search.toLowerCase()))
      && (!after || order({ session: after }, { session: s }) < 0));
    return {
      rows: rows.slice(0, limit).map((row) => ({
        session: row.session,
        ...(messages && { messages: newest(row, ["toolResult", "tool"]).slice(0, messages).reverse() }),
      })),
      more: rows.length > limit,
    };
  }

  history({ sessionKey, before = Infinity, skip = 0, limit, excludeRoles = [] }) {
    const all = newest(this.#rows.get(sessionKey), excludeRoles).filter(({ seq }) => seq < before).slice(skip);
    return { messages: all.slice(0, limit), more: all.length > limit };
  }

  #visible(scope) {
    return [...this.#rows.values()].filter((row) => !row.context.hidden && sees(scope, row.session)).sort(order);
  }
}

const order = ({ session: a }, { session: b }) => b.updatedAt - a.updatedAt || Buffer.compare(Buffer.from(a.key), Buffer.from(b.key));

function sees(scope, { key, agentId, spawnedBy }) {
  return !scope || scope.keys?.includes(key) || (scope.spawnedBy && scope.spawnedBy === spawnedBy)
    || scope.agents?.some((pattern) => like(pattern).test(agentId));
}

// In a pattern * matches any number of characters; every other character is literal.
const like = (pattern) => new RegExp(`^${pattern.split("*").map((part) => part.replace(/[^\w-]/g, "\\$&")).join(".*")}$`);

function newest(row, excludeRoles) {
  return (row?.messages ?? []).map((message, i) => ({ seq: i + 1, message })).filter(({ message }) => !excludeRoles.includes(message.role)).reverse();
}
