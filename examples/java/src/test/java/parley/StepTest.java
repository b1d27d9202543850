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

/** Tests the host functions of a step with requests that Parley's tools rarely make. */
@Timeout(60)
class StepTest {
    private static final String MAIN = "agent:main:main";
    private static final String GROUP = "agent:main:telegram:group:-100";
    private static final String NOBODY = "agent:main:nobody";

    /** A plugin whose only tool makes the requests in its arguments, and returns the replies. */
    private static final class RequestingPlugin extends Plugin {
        JsonObject deriveRequest; // the last input of derive

        RequestingPlugin() {
            super(Main.MODULE);
        }

        @Override
        String call(String export, String input, HostFunctions functions) {
            if (export.equals("derive")) {
                deriveRequest = Json.parse(input).getAsJsonObject();
            }
            if (!export.equals("call")) {
                return super.call(export, input, functions);
            }
            var replies = new JsonArray();
            for (JsonElement request : Json.parse(input).getAsJsonObject().getAsJsonArray("args")) {
                String namespace = request.getAsJsonObject().remove("family").getAsString();
                replies.add(Json.parse(functions.answer(namespace, request.toString())));
            }
            return Json.object("result", Json.object("replies", replies)).toString();
        }
    }

    private static final RequestingPlugin PLUGIN = new RequestingPlugin();

    private final Queue<SessionContext.Deliver> delivered = new ConcurrentLinkedQueue<>();
    private Host host;

    @BeforeEach
    void start() throws StepException {
        host = new Host(PLUGIN, new JsonObject(), Map.of("main", run -> "yes"), (destination, text, id) -> delivered.add(destination));
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
    void refusesAnUnknownSession(String namespace, String op) throws Exception {
        JsonObject refused = ask(request(namespace, op, "sessionKey", NOBODY, "text", "x", "message", "x", "group", "nested"));
        assertEquals("not_found", refused.getAsJsonObject("error").get("code").getAsString());
    }

    @Test
    void postsForADeletedSession() throws Exception {
        ask(request("deliver", "send", "sessionKey", GROUP, "text", "x"), request("store", "delete", "sessionKey", GROUP));
        host.idle();
        assertEquals(Json.object("key", GROUP), PLUGIN.deriveRequest.get("session"));
        assertEquals(1, delivered.size());
        assertEquals(new Target("telegram", "-100", null, null), delivered.remove().target()); // the target in the key
        assertEquals(List.of(), host.parked());
    }

    @ParameterizedTest
    @ValueSource(strings = {"archive", "delete"})
    void failsAQueuedRunOfADeletedOrArchivedSession(String op) throws Exception {
        JsonObject run = ask(run(GROUP, MAIN), request("store", op, "sessionKey", GROUP));
        assertEquals("failed", ended(run).get("status").getAsString());
        assertEquals(0, history(GROUP).size());
    }

    @Test
    void omitsTheChannelOfAnUnknownSource() throws Exception {
        ended(ask(run(GROUP, NOBODY)));
        JsonObject provenance = history(GROUP).get(1).getAsJsonObject() // after the answer
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

    private static JsonObject request(String namespace, String op, Object... members) {
        JsonObject request = Json.object(members);
        request.addProperty("family", namespace);
        request.addProperty("op", op);
        return request;
    }
}
