package parley;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import parley.Run.Task;
import parley.Session.Target;
import parley.SessionContext.Caller;
import parley.StepResult.Wait;
import parley.Store.Row;

/**
 * A host of Parley, safe for use by any number of threads. A gateway keeps the store, the runs and
 * the flows in its database: it writes the effects of a step and the flow's new state in one
 * transaction.
 */
final class Host {
    /** Posts texts to channels. */
    @FunctionalInterface
    interface Post {
        /**
         * Posts a text, or records why the delivery is not allowed. Equal ids are one delivery. May
         * be called concurrently. A delivery for which this throws is parked.
         */
        void deliver(SessionContext.Deliver destination, String text, String id);
    }

    /** A call of a tool, from its first step to its last. The run is the calling run, or null. */
    record Flow(
            String id, String tool, JsonElement args, Caller caller, Run run, long acceptedAt,
            CompletableFuture<StepResult> answer) {}

    /** A text for the target or, if it is null, for the channel of the session. */
    record Delivery(String id, String sessionKey, Target target, String text) {}

    /**
     * A failure after the first step. Without a delivery, the flow has stopped before this step. With
     * one, its text was not posted, and the flow continues.
     */
    record Parked(Flow flow, int step, Delivery delivery, Throwable error) {}

    private static final int ABI = 1;

    private static final Plugin.Operations NONE = (operation, request) -> {
        throw new StepException("forbidden", "derive makes no host calls");
    };

    private final Phaser pending = new Phaser(1); // flows, deliveries, and one party for idle()
    private final ExecutorService threads = Executors.newCachedThreadPool(Host::daemon);
    private final Lock lock = new ReentrantLock(true); // guards the plugin, the store and the runs
    private final Plugin plugin;
    private final List<Description.Tool> tools;
    private final JsonObject config;
    private final Post post;
    private final Store store = new Store();
    private final Runs runs;
    private final AtomicLong calls = new AtomicLong();
    private final List<Parked> parked = new CopyOnWriteArrayList<>();

    /** Creates a host. The agents, by id, answer runs. */
    Host(Plugin plugin, JsonObject config, Map<String, Agent> agents, Post post) {
        Description description = plugin.describe();
        if (description.abi() != ABI) {
            throw new IllegalArgumentException(
                    "the plugin implements version %d of the ABI; this host supports version %d".formatted(description.abi(), ABI));
        }
        this.plugin = plugin;
        this.tools = List.copyOf(description.tools());
        this.config = config;
        this.post = post;
        this.runs = new Runs(lock, store, agents, threads);
    }

    /** Returns the descriptions of the tools, for agents. */
    List<Description.Tool> tools() {
        return tools;
    }

    /** Stores a new or changed session with its transcript. */
    void add(Session session, List<JsonObject> messages) throws StepException {
        lock.lock();
        try {
            store.put(session, derive(session, null), messages);
        } finally {
            lock.unlock();
        }
    }

    /** Calls a tool as a session. The flow continues after the answer. An error of the plugin is a {@link StepException}. */
    CompletableFuture<StepResult> call(String tool, JsonElement args, String sessionKey) {
        return call(tool, args, caller(sessionKey), null);
    }

    /** Calls a tool as a run. */
    CompletableFuture<StepResult> call(String tool, JsonElement args, Run run) {
        return call(tool, args, caller(run.task().sessionKey()).in(run), run);
    }

    /** Waits until all flows and deliveries have ended. Only one thread at a time may call it. */
    void idle() throws InterruptedException {
        pending.awaitAdvanceInterruptibly(pending.arrive());
    }

    List<Parked> parked() {
        return List.copyOf(parked);
    }

    private CompletableFuture<StepResult> call(String tool, JsonElement args, Caller caller, Run run) {
        var flow = new Flow("flow-" + calls.incrementAndGet(), tool, args, caller, run, now(), new CompletableFuture<>());
        begin(() -> run(flow));
        return flow.answer;
    }

    /** Executes the steps of a flow, until one of them returns no wait. */
    private void run(Flow flow) {
        int step = 1;
        try {
            StepResult out = step("call", flow, step, Json.object("callId", flow.id, "tool", flow.tool, "args", flow.args));
            while (true) {
                if (out.result() != null) {
                    flow.answer.complete(out);
                }
                Wait wait = out.waitsFor();
                if (wait == null) {
                    return;
                }
                JsonObject event = event(wait);
                step++;
                out = step("resume", flow, step, Json.object(
                        "state", wait.state(), "stateVersion", wait.stateVersion(), "event", event));
            }
        } catch (Throwable e) {
            if (step > 1) {
                parked.add(new Parked(flow, step, null, e));
            }
            setAwaited(flow, null);
            flow.answer.completeExceptionally(e); // no effect if the call has been answered
        }
    }

    /** Waits for the end of the run or for the time. If both are due, the run wins. */
    private JsonObject event(Wait wait) throws InterruptedException, ExecutionException {
        CompletableFuture<Run> ended = wait.run() == null ? new CompletableFuture<>() : runs.get(wait.run()).ended;
        try {
            Run run = wait.until() == 0 ? ended.get() : ended.get(wait.until() - now(), MILLISECONDS);
            return Json.object("type", "run", "at", now(), "run", run.view());
        } catch (TimeoutException e) {
            return Json.object("type", "time", "at", now());
        }
    }

    /** Executes one step and commits its effects, before the state that it has read can change. */
    private StepResult step(String export, Flow flow, int number, JsonObject input) throws StepException {
        lock.lock();
        try {
            input.asMap().putAll(Json.object(
                    "abi", ABI, "flowId", flow.id, "step", number, "now", now(), "acceptedAt", flow.acceptedAt,
                    "caller", flow.caller, "config", config).asMap());
            var step = new Step(flow, number);
            StepResult out = plugin.ask(export, input, step);
            step.commit(out);
            return out;
        } finally {
            lock.unlock();
        }
    }

    /** Records the run that the calling run waits for, or with null that it no longer waits. */
    private void setAwaited(Flow flow, String runId) {
        if (flow.run == null) {
            return;
        }
        lock.lock();
        try {
            if (runId == null) {
                flow.run.awaited.remove(flow.id);
            } else {
                flow.run.awaited.put(flow.id, runs.get(runId));
            }
        } finally {
            lock.unlock();
        }
    }

    private void post(Flow flow, int step, Delivery delivery) {
        try {
            post.deliver(destination(delivery), delivery.text, delivery.id);
        } catch (Throwable e) {
            parked.add(new Parked(flow, step, delivery, e));
        }
    }

    /**
     * Determines the destination and the send policy when a text is posted: both may have changed
     * since the step, and the session may have been deleted.
     */
    private SessionContext.Deliver destination(Delivery delivery) throws StepException {
        lock.lock();
        try {
            Row row = store.row(delivery.sessionKey);
            Object session = row == null ? Json.object("key", delivery.sessionKey) : row.session();
            return derive(session, delivery.target).deliver();
        } finally {
            lock.unlock();
        }
    }

    private SessionContext derive(Object session, Target target) throws StepException {
        JsonObject request = Json.object("abi", ABI, "session", session, "config", config);
        if (target != null) {
            request.add("target", Json.tree(target));
        }
        return Json.read(plugin.ask("derive", request, NONE).result(), SessionContext.class);
    }

    private Caller caller(String sessionKey) {
        lock.lock();
        try {
            Row row = store.row(sessionKey);
            if (row == null) {
                throw new IllegalArgumentException("session " + sessionKey + " does not exist");
            }
            return row.context().caller();
        } finally {
            lock.unlock();
        }
    }

    private void begin(Runnable work) {
        pending.register();
        threads.execute(() -> {
            try {
                work.run();
            } finally {
                pending.arriveAndDeregister();
            }
        });
    }

    /** Daemon threads: a waiting flow does not keep the process alive. */
    private static Thread daemon(Runnable work) {
        var thread = new Thread(work, "parley");
        thread.setDaemon(true);
        return thread;
    }

    private static long now() {
        return System.currentTimeMillis();
    }

    /** The host functions of a step. Reads answer; writes are checked, and recorded as effects. */
    private final class Step implements Plugin.Operations {
        /** A write that is applied when the step has returned. */
        private interface Effect {
            void commit() throws StepException;
        }

        /** A request to store.create. */
        private record Child(String agentId, String label, String model, String thinkingLevel, int maxActive) {}

        /** A request to deliver.send. */
        private record Text(String sessionKey, String text, boolean atCall) {}

        private final Flow flow;
        private final Caller caller;
        private final int number;
        private final List<Effect> effects = new ArrayList<>();
        private final Set<String> children = new HashSet<>();

        Step(Flow flow, int number) {
            this.flow = flow;
            this.caller = flow.caller;
            this.number = number;
        }

        /** Applies the effects, and records the run that the calling run waits for. */
        void commit(StepResult out) throws StepException {
            for (Effect effect : effects) {
                effect.commit();
            }
            boolean answered = out.result() != null || flow.answer.isDone();
            setAwaited(flow, answered || out.waitsFor() == null ? null : out.waitsFor().run());
        }

        @Override
        public JsonObject answer(String operation, JsonObject request) throws StepException {
            return switch (operation) {
                case "store.get" -> store.get(text(request, "sessionKey"));
                case "store.resolve" -> store.resolve(
                        text(request, "sessionId"), Json.read(request.get("scope"), Store.Scope.class));
                case "store.list" -> store.list(Json.read(request, Store.Query.class));
                case "store.history" -> store.history(Json.read(request, Store.Part.class));
                case "store.create" -> create(Json.read(request, Child.class));
                case "store.archive" -> archive(text(request, "sessionKey"));
                case "store.delete" -> delete(text(request, "sessionKey"));
                case "agent.status" -> status(text(request, "runId"));
                case "agent.waits" -> Json.object("waits", runs.wouldBlock(text(request, "sessionKey"), caller.runId()));
                case "agent.run" -> run(Json.read(request, Task.class));
                case "deliver.send" -> send(Json.read(request, Text.class));
                default -> throw new StepException("unsupported", "this host has no operation " + operation);
            };
        }

        private JsonObject create(Child request) throws StepException {
            if (request.maxActive > 0 && runs.active(caller.sessionKey()) + children.size() >= request.maxActive) {
                throw new StepException("forbidden", "the limit of active children is reached");
            }
            var child = new Session();
            child.key = "agent:" + request.agentId + ":subagent:" + id();
            child.agentId = request.agentId;
            child.sessionId = id();
            child.updatedAt = now();
            child.spawnedBy = caller.sessionKey();
            child.sandboxed = caller.sandboxed();
            child.label = request.label;
            child.modelOverride = request.model;
            child.thinkingLevel = request.thinkingLevel;
            children.add(child.key);
            effects.add(() -> add(child, List.of()));
            return Json.object("sessionKey", child.key, "sessionId", child.sessionId);
        }

        private JsonObject archive(String sessionKey) throws StepException {
            Session session = idle(sessionKey).session();
            effects.add(() -> session.archivedAt = session.archivedAt == null ? now() : session.archivedAt);
            return Json.object();
        }

        private JsonObject delete(String sessionKey) throws StepException {
            idle(sessionKey);
            effects.add(() -> store.delete(sessionKey));
            return Json.object();
        }

        private JsonObject status(String runId) {
            Run run = runs.get(runId);
            return Json.object("run", run == null ? null : run.view());
        }

        private JsonObject run(Task task) throws StepException {
            if (!children.contains(task.sessionKey())) {
                Row row = stored(task.sessionKey());
                if (row.archived()) {
                    throw new StepException("not_found", "session " + task.sessionKey() + " is archived");
                }
                if (!row.context().receive().allowed()) {
                    throw new StepException("forbidden", row.context().receive().reason());
                }
            }
            String source = task.source() == null || task.source().isEmpty() ? caller.sessionKey() : task.source();
            JsonObject provenance = Json.object("kind", "inter_session", "sourceSessionKey", source, "sourceTool", flow.tool);
            Row from = store.row(source);
            if (from != null) { // null if it has been deleted
                provenance.addProperty("sourceChannel", from.context().channel());
            }
            String parent = task.group().equals("subagent") ? caller.sessionKey() : null;
            var run = new Run(id(), task, caller.hops() + 1, provenance, parent);
            effects.add(() -> runs.queue(run));
            return Json.object("runId", run.id());
        }

        private JsonObject send(Text request) throws StepException {
            stored(request.sessionKey);
            var delivery = new Delivery(id(), request.sessionKey, request.atCall ? caller.target() : null, request.text);
            effects.add(() -> begin(() -> post(flow, number, delivery)));
            return Json.object("deliveryId", delivery.id);
        }

        /** Returns the id of the next effect. */
        private String id() {
            return flow.id + "-" + number + "-" + (effects.size() + 1);
        }

        private Row stored(String sessionKey) throws StepException {
            Row row = store.row(sessionKey);
            if (row == null) {
                throw new StepException("not_found", "session " + sessionKey + " does not exist");
            }
            return row;
        }

        private Row idle(String sessionKey) throws StepException {
            if (runs.busy(sessionKey)) {
                throw new StepException("conflict", "a run of " + sessionKey + " has not ended");
            }
            return stored(sessionKey);
        }

        private static String text(JsonObject request, String member) {
            return request.get(member).getAsString();
        }
    }
}
