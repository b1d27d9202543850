package parley;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReplayTest {
    private static final Path RECORDED = Main.RECORDINGS.resolve("S1.1.json");
    private static final String ID = "S1.1/bare-forms-mean-the-own-agent";

    @TempDir
    Path dir;

    private JsonObject recording;
    private JsonObject exchange;
    private JsonArray calls;
    private JsonObject call;

    @BeforeEach
    void read() throws IOException {
        recording = Json.parse(Files.readString(RECORDED)).getAsJsonArray().asList().stream()
                .map(JsonElement::getAsJsonObject)
                .filter(json -> json.get("id").getAsString().equals(ID))
                .findFirst()
                .orElseThrow();
        exchange = recording.getAsJsonArray("exchanges").get(0).getAsJsonObject();
        calls = exchange.getAsJsonArray("calls");
        call = calls.get(0).getAsJsonObject();
    }

    @Test
    void passes() throws IOException {
        write("good.json");
        List<String> printed = replay(true);
        assertTrue(printed.get(0).startsWith("chicory-sdk-core "), printed::toString);
        assertEquals(List.of("1 passed, 0 failed"), printed.subList(1, printed.size()));
    }

    @Test
    void failsOnAnotherRequest() throws IOException {
        call.getAsJsonObject("request").addProperty("op", "lists");
        assertFails("/exchanges/0/calls/0/request/op", "\"lists\"", "\"get\"");
    }

    @Test
    void failsOnAnotherNamespace() throws IOException {
        call.addProperty("family", "agent");
        assertFails("/exchanges/0/calls/0/family", "\"agent\"", "\"store\"");
    }

    @Test
    void failsOnAnotherOutput() throws IOException {
        exchange.getAsJsonObject("output").addProperty("a/b", 1);
        assertFails("/exchanges/0/output/a~1b", "1", "nothing");
    }

    @Test
    void failsOnMoreCallsThanRecorded() throws IOException {
        String last = calls.remove(calls.size() - 1).getAsJsonObject().get("request").toString();
        assertFails("/exchanges/0/calls/" + calls.size(), "nothing", last);
    }

    @Test
    void failsOnFewerCallsThanRecorded() throws IOException {
        calls.add(call);
        assertFails("/exchanges/0/calls/" + (calls.size() - 1), call.get("request").toString(), "nothing");
    }

    @Test
    void continuesAfterAFailure() throws IOException {
        write("c.json");
        exchange.getAsJsonObject("output").addProperty("tampered", true);
        write("a.json");
        exchange.addProperty("export", "no_such_export");
        write("b.json");
        List<String> printed = replay(false);
        assertEquals("1 passed, 2 failed", printed.get(printed.size() - 1));
    }

    @Test
    void continuesInTheFileOfAFailure() throws IOException {
        String good = recording.toString();
        exchange.getAsJsonObject("output").addProperty("tampered", true);
        Files.writeString(dir.resolve("S1.1.json"), "[" + recording + "," + good + "]");
        List<String> printed = replay(false);
        assertEquals(ID + ": /exchanges/0/output/tampered", printed.get(1));
        assertEquals("1 passed, 1 failed", printed.get(printed.size() - 1));
    }

    @Test
    void failsWithoutRecordings() throws IOException {
        write("index.json");
        List<String> printed = replay(false);
        assertEquals("0 passed, 0 failed", printed.get(1));
    }

    private void assertFails(String pointer, String expected, String got) throws IOException {
        write("tampered.json");
        List<String> printed = replay(false);
        assertEquals(
                List.of(ID + ": " + pointer, "  expected " + expected, "  got      " + got, "0 passed, 1 failed"),
                printed.subList(1, printed.size()));
    }

    private void write(String name) throws IOException {
        Files.writeString(dir.resolve(name), "[" + recording + "]");
    }

    private List<String> replay(boolean passes) throws IOException {
        var printed = new ByteArrayOutputStream();
        assertEquals(passes, new Replay(Main.MODULE, new PrintStream(printed, true, UTF_8)).run(dir));
        return printed.toString(UTF_8).lines().toList();
    }
}
