package parley;

import parley.Session.Target;

/** The context of a session under the settings: the answer of {@code derive} (S2 of abi/README.md). */
record SessionContext(
        String agentId, String kind, boolean hidden, String channel, Receive receive, Deliver deliver, Caller caller) {
    /** Whether the session accepts messages, or the reason why not. */
    record Receive(boolean allowed, String reason) {}

    /** The destination of the session's texts, and whether the delivery is allowed, or the reason why not. */
    record Deliver(boolean allowed, String reason, Target target) {}

    /** The session as the caller of tools. */
    record Caller(
            String sessionKey, String agentId, String channel, String to, String accountId, String threadId,
            boolean sandboxed, int depth, int hops, String runId) {
        /** Returns the caller of a run in the session. */
        Caller in(Run run) {
            return new Caller(
                    sessionKey, agentId, channel, to, accountId, threadId, sandboxed, depth, run.hops(), run.id());
        }

        Target target() {
            return new Target(channel, to, accountId, threadId);
        }
    }
}
