package parley;

/** A session as it is stored (Session in S4 of abi/README.md). What is null is absent. */
final class Session {
    /** Where a message is delivered. */
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
