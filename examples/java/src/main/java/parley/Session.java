package parley;

/** A stored session (Session in S4 of abi/README.md). Null members are absent. */
final class Session {
    /** The destination of a delivery. */
    record Target(String channel, String to, String accountId, String threadId) {}

    String key;
    String agentId;
    String sessionId;
    long updatedAt;
    String label;
    String displayName;
    String subject;
    String chatType;
    String channel;
    Target deliveryContext;
    String lastChannel;
    String lastTo;
    String lastAccountId;
    String lastThreadId;
    String model;
    String modelOverride;
    Long contextTokens;
    Long totalTokens;
    String thinkingLevel;
    String verboseLevel;
    Boolean systemSent;
    Boolean abortedLastRun;
    String sendPolicy;
    String spawnedBy;
    Boolean sandboxed;
    String status;
    Long archivedAt;
    String transcriptPath;
}
