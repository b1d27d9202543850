package parley;

import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A run of an agent. What can change of it, the host's lock guards until it has ended. */
final class Run {
    /** A request to agent.run: what is to be done. */
    record Task(
            String sessionKey, String message, String context, String source, String group, boolean noTools,
            long timeoutSeconds) {}

    /** What the plugin is told. */
    record Facts(String id, String status, String reply, String error, Long startedAt, Long endedAt) {}

    private final String id;
    private final Task task;
    private final int hops;

    final JsonObject provenance;
    final String parent;
    final CompletableFuture<Run> ended = new CompletableFuture<>();
    String status = "queued";
    String reply;
    String error;
    Long startedAt;
    Long endedAt;
    Run ahead; // in the same session
    final Map<String, Run> awaited = new HashMap<>(); // by flow: what a call of this run that is not answered yet waits for

    /** The parent is the session that has created the run's session, for its first run alone. */
    Run(String id, Task task, int hops, JsonObject provenance, String parent) {
        this.id = id;
        this.task = task;
        this.hops = hops;
        this.provenance = provenance;
        this.parent = parent;
    }

    String id() {
        return id;
    }

    Task task() {
        return task;
    }

    /** How many flows led to one another up to this run. */
    int hops() {
        return hops;
    }

    boolean hasEnded() {
        return endedAt != null;
    }

    /** Whether this run waits for another, itself or through others. */
    boolean leadsTo(String runId) {
        return !hasEnded()
                && (id.equals(runId)
                        || ahead != null && ahead.leadsTo(runId)
                        || awaited.values().stream().anyMatch(run -> run.leadsTo(runId)));
    }

    Facts facts() {
        return new Facts(id, status, reply, error, startedAt, endedAt);
    }
}
