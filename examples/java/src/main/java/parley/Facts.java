package parley;

import parley.Session.Target;

/** What follows from a session under the settings: what {@code derive} says (S2 of abi/README.md). */
record Facts(String agentId, String kind, boolean hidden, String channel, Receive receive, Deliver deliver, Caller caller) {
    /** Whether a message may enter the session, or why not. */
    record Receive(boolean allowed, String reason) {}

    /** Where what is said in the session goes, and whether it may leave, or why not. */
    record Deliver(boolean allowed, String reason, Target target) {}

    /** Who speaks as the session. */
    record Caller(
            String sessionKey, String agentId, String channel, String to, String accountId, String threadId,
            boolean sandboxed, int depth, int hops, String runId) {
        /** The same when a run calls. */
        Caller in(Run run) {
            return new Caller(
                    sessionKey, agentId, channel, to, accountId, threadId, sandboxed, depth, run.hops(), run.id());
        }

        Target target() {
            return new Target(channel, to, accountId, threadId);
        }
    }
}
