package parley;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The cases of ../store.json, which are the same in every language. */
class StoreTest {
    private record Fixture(JsonObject config, List<Stored> sessions, List<JsonObject> cases) {}

    private record Stored(Session session, List<JsonObject> messages) {}

    @TestFactory
    Stream<DynamicTest> answers() throws IOException, StepException {
        Fixture fixture = Json.read(Json.parse(Files.readString(Path.of("../store.json"))), Fixture.class);
        var plugin = new Plugin(Main.MODULE);
        var store = new Store();
        for (Stored stored : fixture.sessions) {
            JsonObject request = Json.object("abi", 1, "session", stored.session, "config", fixture.config);
            JsonObject context = plugin.ask("derive", request, (operation, ignored) -> null).result();
            store.put(stored.session, Json.read(context, SessionContext.class), stored.messages);
        }
        return fixture.cases.stream().map(test -> {
            JsonObject request = test.getAsJsonObject("request");
            JsonObject expected = test.deepCopy();
            expected.remove("name");
            expected.remove("request");
            return DynamicTest.dynamicTest(
                    request.get("op").getAsString() + ": " + test.get("name").getAsString(),
                    () -> assertEquals(expected, brief(answer(store, request))));
        });
    }

    private static JsonObject answer(Store store, JsonObject request) {
        String op = request.get("op").getAsString();
        return switch (op) {
            case "get" -> store.get(request.get("sessionKey").getAsString());
            case "resolve" -> store.resolve(
                    request.get("sessionId").getAsString(), Json.read(request.get("scope"), Store.Scope.class));
            case "list" -> store.list(Json.read(request, Store.Query.class));
            case "history" -> store.history(Json.read(request, Store.Part.class));
            default -> throw new IllegalArgumentException(op);
        };
    }

    /** Extracts from an answer the keys, and the numbers of the first row's messages. */
    private static JsonObject brief(JsonObject answer) {
        var brief = new JsonObject();
        if (answer.has("session")) {
            JsonElement session = answer.get("session");
            brief.add("session", session.isJsonNull() ? JsonNull.INSTANCE : session.getAsJsonObject().get("key"));
            return brief;
        }
        brief.add("more", answer.get("more"));
        JsonArray messages = answer.getAsJsonArray("messages");
        if (answer.has("rows")) {
            JsonArray rows = answer.getAsJsonArray("rows");
            brief.add("rows", each(rows, row -> row.getAsJsonObject("session").get("key")));
            messages = rows.isEmpty() ? null : rows.get(0).getAsJsonObject().getAsJsonArray("messages");
        }
        if (messages != null) {
            brief.add("seqs", each(messages, message -> message.get("seq")));
        }
        return brief;
    }

    private static JsonArray each(JsonArray array, Function<JsonObject, JsonElement> member) {
        return Json.array(StreamSupport.stream(array.spliterator(), false)
                .map(element -> member.apply(element.getAsJsonObject()))
                .toList());
    }
}
