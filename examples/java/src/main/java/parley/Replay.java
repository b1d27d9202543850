package parley;

import com.google.gson.JsonPrimitive;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import parley.Recording.Exchange;
import parley.Recording.HostCall;

/** Replays recordings with one instance of the plugin, as its host. */
final class Replay implements HostFunctions {
    private final Path module;
    private final PrintStream out;
    private Guest guest;

    private Exchange exchange;
    private String pointer;
    private int asked;

    Replay(Path module, PrintStream out) {
        this.module = module;
        this.out = out;
        this.guest = Guest.load(module, this);
    }

    /** Replays all recordings below a directory. Returns whether there were any and all passed. */
    boolean run(Path dir) throws IOException {
        out.println(Versions.line());
        int passed = 0;
        int failed = 0;
        for (Path file : Recording.files(dir)) {
            for (Recording recording : Recording.read(file)) {
                if (passes(recording)) {
                    passed++;
                } else {
                    failed++;
                }
            }
        }
        out.printf("%d passed, %d failed%n", passed, failed);
        return passed > 0 && failed == 0;
    }

    private boolean passes(Recording recording) {
        try {
            for (int i = 0; i < recording.exchanges().size(); i++) {
                pointer = "/exchanges/" + i;
                replay(recording.exchanges().get(i));
            }
            return true;
        } catch (Mismatch mismatch) {
            out.println(recording.id() + ": " + mismatch.getMessage());
        } catch (RuntimeException e) {
            out.println(recording.id() + ": " + pointer + ": " + e);
            guest = Guest.load(module, this); // the failure may have been a trap
        }
        return false;
    }

    private void replay(Exchange exchange) {
        this.exchange = exchange;
        asked = 0;
        String output = guest.call(exchange.export(), exchange.input().toString());
        if (asked < exchange.calls().size()) {
            throw new Mismatch(pointer + "/calls/" + asked, exchange.calls().get(asked).request(), null);
        }
        Mismatch.check(pointer + "/output", exchange.output(), Json.parse(output));
    }

    @Override
    public String answer(String namespace, String request) {
        String at = pointer + "/calls/" + asked;
        if (asked == exchange.calls().size()) {
            throw new Mismatch(at, null, request);
        }
        HostCall call = exchange.calls().get(asked++);
        Mismatch.check(at + "/family", new JsonPrimitive(call.family()), new JsonPrimitive(namespace));
        Mismatch.check(at + "/request", call.request(), Json.parse(request));
        return call.reply().toString();
    }
}
