package parley;

import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A run of an agent. The host's lock guards its mutable fields until it has ended. */
final class Run {
    /** A request to agent.run: the task of the run. */
    record Task(
            String sessionKey, String message, String context, String source, String group, boolean noTools,
            long timeoutSeconds) {}

    /** The members that the plugin receives. */
    record View(String id, String status, String reply, String error, Long startedAt, Long endedAt) {}

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
    final Map<String, Run> awaited = new HashMap<>(); // by flow: the run that an unanswered call of this run waits for

    /** The parent is the session that spawned the run's session, for the first run of a child only. */
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

    /** The number of flows in the chain that led to this run. */
    int hops() {
        return hops;
    }

    boolean hasEnded() {
        return endedAt != null;
    }

    /** Whether this run is, or waits for, the other run, directly or through other runs. */
    boolean waitsFor(String runId) {
        return !hasEnded()
                && (id.equals(runId)
                        || ahead != null && ahead.waitsFor(runId)
                        || awaited.values().stream().anyMatch(run -> run.waitsFor(runId)));
    }

    View view() {
        return new View(id, status, reply, error, startedAt, endedAt);
    }
}
