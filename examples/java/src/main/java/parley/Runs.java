package parley;

import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;
import parley.Store.Row;

/** Runs of agents. The runs of one session are serial. The host's lock guards all methods except {@link #get}. */
final class Runs {
    private final Lock lock;
    private final Store store;
    private final Map<String, Agent> agents;
    private final ExecutorService threads;
    private final Map<String, Run> runs = new ConcurrentHashMap<>();
    private final Map<String, Run> last = new HashMap<>(); // the last run of each session's queue

    Runs(Lock lock, Store store, Map<String, Agent> agents, ExecutorService threads) {
        this.lock = lock;
        this.store = store;
        this.agents = agents;
        this.threads = threads;
    }

    /** Returns a run by its id, or null. */
    Run get(String id) {
        return runs.get(id);
    }

    void queue(Run run) {
        runs.put(run.id(), run);
        run.ahead = last.put(run.task().sessionKey(), run);
        CompletableFuture<?> turn = run.ahead == null ? CompletableFuture.completedFuture(null) : run.ahead.ended;
        turn.thenRunAsync(() -> execute(run), threads);
    }

    /** Returns the number of active children of a session. */
    long active(String parent) {
        return runs.values().stream().filter(run -> parent.equals(run.parent) && !run.hasEnded()).count();
    }

    boolean busy(String sessionKey) {
        return last.containsKey(sessionKey) && !last.get(sessionKey).hasEnded();
    }

    /** The deadlock check: whether a run of the session waits for the other run, directly or through other runs. */
    boolean wouldBlock(String sessionKey, String runId) {
        return runId != null && last.containsKey(sessionKey) && last.get(sessionKey).waitsFor(runId);
    }

    /** Executes a run. Only the agent's answer runs without the lock. */
    private void execute(Run run) {
        Future<String> answer = CompletableFuture.completedFuture(null);
        try {
            Agent agent = start(run);
            answer = threads.submit(() -> agent.answer(run));
            long limit = run.task().timeoutSeconds() > 0 ? run.task().timeoutSeconds() : Long.MAX_VALUE;
            String reply = Objects.requireNonNullElse(answer.get(limit, SECONDS), "").strip();
            end(run, "done", reply.isEmpty() ? null : reply, null);
        } catch (TimeoutException e) {
            end(run, "timeout", null, null);
        } catch (ExecutionException e) {
            end(run, "failed", null, e.getCause().toString());
        } catch (InterruptedException e) {
            end(run, "killed", null, null);
        } catch (RuntimeException | Error e) { // a run that does not end blocks its session
            end(run, "failed", null, e.toString());
        } finally {
            answer.cancel(true);
        }
    }

    private Agent start(Run run) {
        lock.lock();
        try {
            run.status = "running";
            run.startedAt = System.currentTimeMillis();
            Row row = store.row(run.task().sessionKey());
            if (row == null || row.archived()) {
                return none("the session was deleted or archived");
            }
            store.append(row.session().key, "user", run.task().message(), run.provenance);
            return agents.getOrDefault(row.session().agentId, none("the agent does not exist"));
        } finally {
            lock.unlock();
        }
    }

    private static Agent none(String why) {
        return run -> {
            throw new IllegalStateException(why);
        };
    }

    private void end(Run run, String status, String reply, String error) {
        lock.lock();
        try {
            run.status = status;
            run.reply = reply;
            run.error = error;
            run.endedAt = System.currentTimeMillis();
            Row row = store.row(run.task().sessionKey());
            if (row != null && reply != null) {
                store.append(row.session().key, "assistant", reply, null);
            }
            if (row != null && !run.task().noTools()) {
                row.session().status = status;
            }
        } finally {
            lock.unlock();
        }
        run.ended.complete(run);
    }
}
