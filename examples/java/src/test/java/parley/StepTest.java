package parley;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import parley.Session.Target;

/** What the host functions of a step do with requests that Parley's tools hardly make. */
@Timeout(60)
class StepTest {
    private static final String MAIN = "agent:main:main";
    private static final String GROUP = "agent:main:telegram:group:-100";
    private static final String NOBODY = "agent:main:nobody";

    /** A plugin whose one tool makes the requests of its arguments, and answers the replies. */
    private static final class Asking extends Plugin {
        JsonObject question; // the last one to derive

        Asking() {
            super(Main.MODULE);
        }

        @Override
        String call(String export, String input, HostFunctions functions) {
            if (export.equals("derive")) {
                question = Json.parse(input).getAsJsonObject();
            }
            if (!export.equals("call")) {
                return super.call(export, input, functions);
            }
            var replies = new JsonArray();
            for (JsonElement request : Json.parse(input).getAsJsonObject().getAsJsonArray("args")) {
                String family = request.getAsJsonObject().remove("family").getAsString();
                replies.add(Json.parse(functions.answer(family, request.toString())));
            }
            return Json.object("result", Json.object("replies", replies)).toString();
        }
    }

    private static final Asking PLUGIN = new Asking();

    private final Queue<Facts.Deliver> delivered = new ConcurrentLinkedQueue<>();
    private Host host;

    @BeforeEach
    void start() throws StepException {
        host = new Host(PLUGIN, new JsonObject(), Map.of("main", run -> "yes"), (place, text, id) -> delivered.add(place));
        for (String key : List.of(MAIN, GROUP)) {
            var session = new Session();
            session.key = key;
            session.agentId = "main";
            session.sessionId = key;
            session.deliveryContext = new Target("telegram", "7", null, null);
            host.add(session, List.of());
        }
    }

    @ParameterizedTest
    @CsvSource({"store, archive", "store, delete", "deliver, send", "agent, run"})
    void refusesASessionThatIsNotThere(String family, String op) throws Exception {
        JsonObject refused = ask(request(family, op, "sessionKey", NOBODY, "text", "x", "message", "x", "group", "nested"));
        assertEquals("not_found", refused.getAsJsonObject("error").get("code").getAsString());
    }

    @Test
    void postsWithoutTheSessionWhenThatIsDeleted() throws Exception {
        ask(request("deliver", "send", "sessionKey", GROUP, "text", "x"), request("store", "delete", "sessionKey", GROUP));
        host.idle();
        assertEquals(Json.object("key", GROUP), PLUGIN.question.get("session"));
        assertEquals(1, delivered.size());
        assertEquals(new Target("telegram", "-100", null, null), delivered.remove().target()); // as the key has it
        assertEquals(List.of(), host.parked());
    }

    @ParameterizedTest
    @ValueSource(strings = {"archive", "delete"})
    void failsARunWhoseSessionIsGoneByItsTurn(String op) throws Exception {
        JsonObject run = ask(run(GROUP, MAIN), request("store", op, "sessionKey", GROUP));
        assertEquals("failed", ended(run).get("status").getAsString());
        assertEquals(0, history(GROUP).size());
    }

    @Test
    void leavesOutTheChannelOfASourceThatIsNotThere() throws Exception {
        ended(ask(run(GROUP, NOBODY)));
        JsonObject provenance = history(GROUP).get(1).getAsJsonObject() // behind the answer
                .getAsJsonObject("message").getAsJsonObject("provenance");
        assertEquals(NOBODY, provenance.get("sourceSessionKey").getAsString());
        assertFalse(provenance.has("sourceChannel"));
    }

    /** Makes requests in one step, and returns the first reply. */
    private JsonObject ask(JsonObject... requests) throws Exception {
        return host.call("ask", Json.array(List.of(requests)), MAIN).get().result()
                .getAsJsonArray("replies").get(0).getAsJsonObject();
    }

    private JsonObject ended(JsonObject reply) throws Exception {
        JsonObject status = request("agent", "status", "runId", reply.getAsJsonObject("ok").get("runId").getAsString());
        while (true) {
            JsonObject run = ask(status).getAsJsonObject("ok").getAsJsonObject("run");
            if (run.has("endedAt")) {
                return run;
            }
            Thread.sleep(10);
        }
    }

    private JsonArray history(String sessionKey) throws Exception {
        return ask(request("store", "history", "sessionKey", sessionKey, "limit", 10))
                .getAsJsonObject("ok").getAsJsonArray("messages");
    }

    private static JsonObject run(String sessionKey, String source) {
        return request("agent", "run", "sessionKey", sessionKey, "message", "x", "source", source, "group", "nested");
    }

    private static JsonObject request(String family, String op, Object... members) {
        JsonObject request = Json.object(members);
        request.addProperty("family", family);
        request.addProperty("op", op);
        return request;
    }
}
