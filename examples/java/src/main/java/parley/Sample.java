package parley;

/** A call that lists sessions, and a store with one session to list. */
final class Sample {
    static final String CALL = call("sessions_list", "{}");

    static final String ROWS = """
            {"ok": {"rows": [{"session": {"key": "agent:main:main", "agentId": "main", "kind": "other",
                                          "sessionId": "s1", "updatedAt": 1780000000000}}],
                    "more": false}}""";

    private Sample() {}

    /** The input of a call by the main session of the agent main. */
    static String call(String tool, String args) {
        return """
                {"abi": 1, "flowId": "f1", "step": 1, "callId": "c1",
                 "now": 1780000000000, "acceptedAt": 1780000000000,
                 "tool": "%s", "args": %s,
                 "caller": {"sessionKey": "agent:main:main", "agentId": "main", "sandboxed": false, "depth": 0, "hops": 0},
                 "config": {}}""".formatted(tool, args);
    }
}
