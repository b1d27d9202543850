package parley;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The agent main has two sessions, the agent ops has one. */
@Timeout(60)
class HostTest {
    private static final String MAIN = "agent:main:main";
    private static final String GROUP = "agent:main:telegram:group:-100";
    private static final String OPS = "agent:ops:main";
    private static final Agent SAYS_YES = run -> "yes";

    private final Recorder plugin = new Recorder(Main.MODULE);
    private Host host;

    @AfterEach
    void goesOnToTheEndWithValidMessages() throws IOException {
        host.idle();
        new Schema().assertValid(plugin.messages);
    }

    @Test
    void answersWhenTheRunEnds() throws Exception {
        start(SAYS_YES, SAYS_YES);
        assertResult("ok", "yes", send(MAIN, OPS, 30));
    }

    @Test
    void answersWhenTheTimeComes() throws Exception {
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

    @Test
    void refusesAnUnknownTool() throws Exception {
        start(SAYS_YES, SAYS_YES);
        var thrown = assertThrows(ExecutionException.class, () -> host.call("no_such_tool", new JsonObject(), MAIN).get());
        assertEquals("not_found", assertInstanceOf(StepException.class, thrown.getCause()).code());
        assertEquals(List.of(), host.parked());
    }

    @Test
    void takesCallsAtOnce() throws Exception {
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

    /** The group asks main, which asks ops, which asks main: nobody could ever answer. */
    @Test
    void letsRunsNotWaitForEachOther() throws Exception {
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
        assertEquals("accepted", status(asked)); // it is told, and not waited for
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
    void knowsItsSessions() throws Exception {
        start(SAYS_YES, SAYS_YES);
        assertTrue(assertThrows(IllegalArgumentException.class, () -> send("agent:main:nobody", OPS, 30))
                .getMessage().contains("agent:main:nobody"));
    }

    private void start(Agent main, Agent ops) throws StepException {
        start(main, ops, plugin);
    }

    private void start(Agent main, Agent ops, Plugin plugin) throws StepException {
        JsonObject config = Json.parse("""
                {"tools": {"sessions": {"visibility": "all"}, "agentToAgent": {"enabled": true}},
                 "session": {"agentToAgent": {"maxPingPongTurns": 0}},
                 "agents": {"list": [{"id": "main"}, {"id": "ops"}]}}""").getAsJsonObject();
        host = new Host(plugin, config, Map.of("main", main, "ops", ops), (place, text, id) -> {});
        for (String key : List.of(MAIN, GROUP, OPS)) {
            var session = new Session();
            session.key = key;
            session.agentId = key.split(":")[1];
            session.sessionId = key;
            host.add(session, List.of());
        }
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
