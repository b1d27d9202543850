package parley;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.toSet;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.gson.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import parley.Recorder.Message;

/** The demo, and the messages between host and plugin. */
class DemoTest {
    private static final Recorder PLUGIN = new Recorder(Main.MODULE);
    private static final ByteArrayOutputStream PRINTED = new ByteArrayOutputStream();

    @BeforeAll
    static void run() throws Exception {
        new Demo(PLUGIN, Main.WORLD, new PrintStream(PRINTED, true, UTF_8)).run();
    }

    @Test
    void printsTheExpectedText() throws Exception {
        assertEquals(Files.readString(Path.of("../demo.txt")), PRINTED.toString(UTF_8));
    }

    @Test
    void everyMessageIsValid() throws Exception {
        new Schema().assertValid(PLUGIN.messages);
        assertEquals(
                Set.of("description", "call", "resume", "derive", "step", "facts",
                        "store.get", "store.list", "store.history", "store.create", "store.delete",
                        "agent.status", "agent.run", "deliver.send"),
                PLUGIN.messages.stream().map(message -> message.name().replaceAll("\\.(request|reply)$", "")).collect(toSet()));
    }

    @Test
    void aTamperedMessageIsInvalid() throws Exception {
        var schema = new Schema();
        for (Message message : PLUGIN.messages) {
            JsonObject tampered = Json.parse(message.text()).getAsJsonObject();
            tampered.addProperty("tampered", true);
            assertFalse(schema.validate(new Message(message.name(), tampered.toString())).isValid(), message::toString);
        }
    }
}
