package parley;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import org.junit.jupiter.api.Test;

class CallsTest {
    @Test
    void printsRateAndMemory() throws IOException {
        var printed = new ByteArrayOutputStream();
        var progress = new ByteArrayOutputStream();
        assertTrue(Calls.run(Main.MODULE, 1000, new PrintStream(printed, true, UTF_8), new PrintStream(progress, true, UTF_8)));
        assertEquals(10, progress.toString(UTF_8).lines().count());
        String last = printed.toString(UTF_8).lines().reduce((first, second) -> second).orElseThrow();
        assertTrue(last.matches("1000 calls, \\d+ calls/s, memory [\\d.]+ MiB after the first tenth, [\\d.]+ MiB at the end"), last);
    }
}
