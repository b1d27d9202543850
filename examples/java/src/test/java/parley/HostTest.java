package parley;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import parley.Session.Target;

/** The agent main has two sessions, one of them in Telegram; the agent ops has one. */
@Timeout(60)
class HostTest {
    private static final String MAIN = "agent:main:main";
    private static final String GROUP = "agent:main:telegram:group:-100";
    private static final String OPS = "agent:ops:main";
    private static final Agent SAYS_YES = run -> "yes";

    private final Recorder plugin = new Recorder(Main.MODULE);
    private final JsonObject config = Json.parse("""
            {"tools": {"sessions": {"visibility": "all"}, "agentToAgent": {"enabled": true}},
             "session": {"agentToAgent": {"maxPingPongTurns": 0}},
             "agents": {"list": [{"id": "main"}, {"id": "ops"}]}}""").getAsJsonObject();
    private final Queue<SessionContext.Deliver> delivered = new ConcurrentLinkedQueue<>();
    private Host.Post post = (destination, text, id) -> delivered.add(destination);
    private Host host;

    @AfterEach
    @Timeout(20)
    void completesFlowsWithValidMessages() throws Exception {
        host.idle();
        new Schema().assertValid(plugin.messages);
    }

    @Test
    void answersWhenTheRunEnds() throws Exception {
        start(SAYS_YES, SAYS_YES);
        assertResult("ok", "yes", send(MAIN, OPS, 30));
    }

    @Test
    void answersAtTheTimeout() throws Exception {
        var late = new CountDownLatch(1);
        start(SAYS_YES, run -> {
            late.await();
            return "too late";
        });
        assertEquals("timeout", status(send(MAIN, OPS, 1)));
        late.countDown();
        host.idle();
        assertEquals(List.of(), host.parked());
    }

    @Test
    void answersWhenTheAgentFails() throws Exception {
        start(SAYS_YES, run -> {
            throw new IllegalStateException("out of words");
        });
        assertEquals("error", status(send(MAIN, OPS, 30)));
    }

    /** The run ends, and the session accepts the next run. */
    @Test
    void takesNullForAnEmptyReply() throws Exception {
        start(SAYS_YES, run -> null);
        assertEquals("ok", status(send(MAIN, OPS, 5)));
        assertEquals("ok", status(send(MAIN, OPS, 5)));
        host.idle();
        assertEquals(List.of("user", "user"), roles(history(OPS)));
    }

    @Test
    void answersWhenTheErrorOfTheAgentHasNoText() throws Exception {
        start(SAYS_YES, run -> {
            throw new RuntimeException() {
                private static final long serialVersionUID = 1;

                @Override
                public String toString() {
                    throw new IllegalStateException("out of words");
                }
            };
        });
        assertEquals("error", status(send(MAIN, OPS, 5)));
        assertEquals("error", status(send(MAIN, OPS, 5)));
    }

    @Test
    void refusesAnUnknownTool() throws Exception {
        start(SAYS_YES, SAYS_YES);
        var thrown = assertThrows(ExecutionException.class, () -> host.call("no_such_tool", new JsonObject(), MAIN).get());
        assertEquals("not_found", assertInstanceOf(StepException.class, thrown.getCause()).code());
        assertEquals(List.of(), host.parked());
    }

    @Test
    void takesConcurrentCalls() throws Exception {
        var both = new CountDownLatch(2);
        Agent together = run -> {
            both.countDown();
            both.await();
            return "yes";
        };
        start(together, together);
        var toOps = send(MAIN, OPS, 30);
        var toGroup = send(MAIN, GROUP, 30);
        assertResult("ok", "yes", toOps);
        assertResult("ok", "yes", toGroup);
    }

    /** The group sends to main, which sends to ops, which sends to main: a deadlock without the check. */
    @Test
    void detectsDeadlocks() throws Exception {
        var asked = new CompletableFuture<StepResult>();
        start(
                run -> {
                    if (run.hops() > 1) {
                        return "yes";
                    }
                    return reply(host.call("sessions_send", message(OPS, 30), run));
                },
                run -> {
                    if (!asked.isDone()) {
                        asked.complete(host.call("sessions_send", message(MAIN, 30), run).get());
                    }
                    return "main is busy";
                });
        assertResult("ok", "main is busy", send(GROUP, MAIN, 30));
        assertEquals("accepted", status(asked)); // accepted, without a wait
    }

    /** Main waits for ops and makes another call before ops sends to main. */
    @Test
    void remembersWhatARunWaitsForDuringItsOtherCalls() throws Exception {
        var opsIsAsked = new CountDownLatch(1);
        var mainHasListed = new CountDownLatch(1);
        var asked = new CompletableFuture<StepResult>();
        start(
                run -> {
                    if (run.hops() > 1) {
                        return "yes";
                    }
                    var answer = host.call("sessions_send", message(OPS, 10), run);
                    opsIsAsked.await();
                    host.call("sessions_list", new JsonObject(), run).get();
                    mainHasListed.countDown();
                    return reply(answer);
                },
                run -> {
                    opsIsAsked.countDown();
                    mainHasListed.await();
                    if (!asked.isDone()) {
                        asked.complete(host.call("sessions_send", message(MAIN, 5), run).get());
                    }
                    return "main is busy";
                });
        assertResult("ok", "main is busy", send(GROUP, MAIN, 20));
        assertEquals("accepted", status(asked));
    }

    @Test
    void countsHopsOfTheCallsOfRuns() throws Exception {
        var called = new CompletableFuture<Run>();
        start(SAYS_YES, run -> {
            host.call("sessions_list", new JsonObject(), run).get();
            called.complete(run);
            return "yes";
        });
        assertResult("ok", "yes", send(MAIN, OPS, 30));
        JsonObject caller = messages("call").stream()
                .filter(call -> call.get("tool").getAsString().equals("sessions_list"))
                .findFirst().orElseThrow().getAsJsonObject("caller");
        assertEquals(1, caller.get("hops").getAsInt());
        assertEquals(called.get().id(), caller.get("runId").getAsString());
    }

    @Test
    void namesTheSender() throws Exception {
        start(SAYS_YES, SAYS_YES);
        assertResult("ok", "yes", send(MAIN, OPS, 30));
        assertEquals(
                Json.object("kind", "inter_session", "sourceSessionKey", MAIN, "sourceChannel", "telegram",
                        "sourceTool", "sessions_send"),
                history(OPS).stream()
                        .filter(message -> message.get("role").getAsString().equals("user"))
                        .reduce((newer, older) -> older).orElseThrow().get("provenance"));
    }

    @Test
    void refusesAMessageThatSendPolicyDenies() throws Exception {
        start(SAYS_YES, SAYS_YES);
        Session quiet = session(OPS);
        quiet.sendPolicy = "deny";
        host.add(quiet, List.of());
        assertEquals("forbidden", status(send(MAIN, OPS, 5)));
    }

    @Test
    void limitsActiveChildren() throws Exception {
        config.getAsJsonObject("agents").add("defaults", Json.parse("{\"subagents\": {\"maxChildrenPerAgent\": 1}}"));
        var done = new CountDownLatch(1);
        start(run -> {
            done.await();
            return "done";
        }, SAYS_YES);
        assertEquals("accepted", status(spawn()));
        assertEquals("forbidden", status(spawn()));
        done.countDown();
        host.idle();
        assertEquals("accepted", status(spawn()));
    }

    @Test
    void reportsToTheDestinationOfTheCall() throws Exception {
        var done = new CountDownLatch(1);
        start(run -> {
            done.await();
            return "done";
        }, SAYS_YES);
        assertEquals("accepted", status(spawn()));
        Session moved = session(MAIN);
        moved.deliveryContext = new Target("discord", "42", null, null);
        host.add(moved, List.of());
        done.countDown();
        host.idle();
        assertEquals(List.of(new Target("telegram", "7", null, null)), delivered.stream().map(SessionContext.Deliver::target).toList());
    }

    @Test
    void parksAFailedDelivery() throws Exception {
        post = (destination, text, id) -> {
            throw new IllegalStateException("the channel is down");
        };
        start(run -> "done", SAYS_YES);
        assertEquals("accepted", status(spawn()));
        host.idle();
        assertEquals(1, host.parked().size());
        Host.Parked parked = host.parked().get(0);
        assertEquals("the channel is down", parked.error().getMessage());
        assertEquals(MAIN, parked.delivery().sessionKey());
        assertTrue(parked.delivery().text().contains("done"));
    }

    @Test
    void readsMessagesWithoutARole() throws Exception {
        start(SAYS_YES, SAYS_YES);
        host.add(session(OPS), List.of(
                Json.object("content", "What am I?", "timestamp", 1),
                Json.parse("{\"role\": null, \"content\": \"And I?\", \"timestamp\": 2}").getAsJsonObject()));
        assertEquals(2, history(OPS).size());
        JsonObject list = host.call("sessions_list", Json.object("messageLimit", 5), MAIN).get().result();
        assertEquals(3, list.get("count").getAsInt());
    }

    @Test
    void showsTheTools() throws Exception {
        start(SAYS_YES, SAYS_YES);
        assertEquals(
                List.of("sessions_list", "sessions_history", "agents_list", "sessions_send", "sessions_spawn"),
                host.tools().stream().map(Description.Tool::name).toList());
        assertTrue(host.tools().stream().allMatch(tool -> tool.inputSchema().has("type")));
    }

    @Test
    void refusesAPluginOfAnotherAbi() throws Exception {
        start(SAYS_YES, SAYS_YES);
        for (String other : List.of("\"abi\":2", "\"abi_\":1")) {
            var stranger = new Plugin(Main.MODULE) {
                @Override
                String call(String export, String input, HostFunctions functions) {
                    return super.call(export, input, functions).replace("\"abi\":1", other);
                }
            };
            assertThrows(IllegalArgumentException.class, () -> new Host(stranger, config, Map.of(), post));
        }
    }

    @Test
    void parksAFlowWhenALaterStepFails() throws Exception {
        start(SAYS_YES, SAYS_YES, new Plugin(Main.MODULE) {
            @Override
            String call(String export, String input, HostFunctions functions) {
                return super.call(export, export.equals("resume") ? input.replace("\"event\"", "\"evnt\"") : input, functions);
            }
        });
        var answer = send(MAIN, OPS, 30);
        assertThrows(ExecutionException.class, answer::get);
        host.idle();
        assertEquals(1, host.parked().size());
        Host.Parked parked = host.parked().get(0);
        assertEquals("flow-1 step 2", parked.flow().id() + " step " + parked.step());
        assertEquals("invalid_args", assertInstanceOf(StepException.class, parked.error()).code());
    }

    @Test
    void refusesAnUnknownCaller() throws Exception {
        start(SAYS_YES, SAYS_YES);
        assertTrue(assertThrows(IllegalArgumentException.class, () -> send("agent:main:nobody", OPS, 30))
                .getMessage().contains("agent:main:nobody"));
    }

    private void start(Agent main, Agent ops) throws StepException {
        start(main, ops, plugin);
    }

    private void start(Agent main, Agent ops, Plugin plugin) throws StepException {
        host = new Host(plugin, config, Map.of("main", main, "ops", ops), (destination, text, id) -> post.deliver(destination, text, id));
        for (String key : List.of(MAIN, GROUP, OPS)) {
            host.add(session(key), List.of());
        }
    }

    private static Session session(String key) {
        var session = new Session();
        session.key = key;
        session.agentId = key.split(":")[1];
        session.sessionId = key;
        session.deliveryContext = key.equals(MAIN) ? new Target("telegram", "7", null, null) : null;
        return session;
    }

    private CompletableFuture<StepResult> spawn() {
        return host.call("sessions_spawn", Json.object("task", "Count to ten.", "cleanup", "delete"), MAIN);
    }

    /** Returns the stored messages of a session, newest first. */
    private List<JsonObject> history(String key) throws Exception {
        host.call("sessions_history", Json.object("sessionKey", key), MAIN).get();
        List<JsonObject> replies = messages("store.history.reply");
        JsonArray stored = replies.get(replies.size() - 1).getAsJsonObject("ok").getAsJsonArray("messages");
        return stored.asList().stream().map(message -> message.getAsJsonObject().getAsJsonObject("message")).toList();
    }

    private static List<String> roles(List<JsonObject> messages) {
        return messages.stream().map(message -> message.get("role").getAsString()).toList();
    }

    /** Returns the recorded messages with this name. */
    private List<JsonObject> messages(String name) {
        return List.copyOf(plugin.messages).stream()
                .filter(message -> message.name().equals(name))
                .map(message -> Json.parse(message.text()).getAsJsonObject())
                .toList();
    }

    private CompletableFuture<StepResult> send(String from, String to, int timeoutSeconds) {
        return host.call("sessions_send", message(to, timeoutSeconds), from);
    }

    private static JsonObject message(String to, int timeoutSeconds) {
        return Json.object("sessionKey", to, "message", "Are you there?", "timeoutSeconds", timeoutSeconds);
    }

    private static String status(CompletableFuture<StepResult> answer) throws Exception {
        return answer.get(40, SECONDS).result().get("status").getAsString();
    }

    private static void assertResult(String status, String reply, CompletableFuture<StepResult> answer) throws Exception {
        assertEquals(status, status(answer));
        assertEquals(reply, reply(answer));
    }

    private static String reply(CompletableFuture<StepResult> answer) throws Exception {
        return answer.get(40, SECONDS).result().get("reply").getAsString();
    }
}
