package parley;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertLinesMatch;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.List;
import org.junit.jupiter.api.Test;

class FailuresTest {
    @Test
    void printsEachFailureAndThatThePluginAnswers() throws StepException {
        var printed = new ByteArrayOutputStream();
        new Failures(Main.MODULE, Main.TRAP, new PrintStream(printed, true, UTF_8)).run();
        assertLinesMatch(
                List.of("a trap: .*TrapException: .*unreachable.*",
                        "the same instance once more: .*IllegalStateException: .*",
                        "a new instance: \\{\"result\":\\{\"status\":\"ok\"}}",
                        "and the plugin still answers",
                        "a host function fails: .*IllegalStateException: the store is down",
                        "and the plugin still answers",
                        "an unknown tool: StepException: not_found: .*",
                        "and the plugin still answers",
                        "a bad argument: invalid_args: \\{\"status\":\"error\".*",
                        "and the plugin still answers"),
                printed.toString(UTF_8).lines().toList());
    }
}
