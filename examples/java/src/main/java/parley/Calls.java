package parley;

import java.io.IOException;
import java.io.PrintStream;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.Locale;

/** Calls one instance many times, and checks that its memory does not grow. */
final class Calls {
    private Calls() {}

    /** Makes n calls, at least 10. Returns whether the heap has stayed nearly constant since the first tenth. */
    static boolean run(Path module, int n, PrintStream out, PrintStream progress) throws IOException {
        if (n < 10) {
            throw new IllegalArgumentException("at least 10 calls are needed, not " + n);
        }
        Guest guest = Guest.load(module, (namespace, request) -> Sample.ROWS);
        int tenth = n / 10;
        Memory first = null;
        long start = System.nanoTime();
        for (int done = 1; done <= n; done++) {
            guest.call("call", Sample.CALL);
            if (done % tenth == 0) {
                progress.printf(Locale.ROOT, "%d calls, %.0f calls/s%n", done, rate(done, start));
            }
            if (done == tenth) {
                first = Memory.now();
            }
        }
        double rate = rate(n, start);
        Memory last = Memory.now();
        Reference.reachabilityFence(guest); // keeps the guest until the memory is measured
        out.printf(Locale.ROOT, "resident set %.1f MiB after the first tenth, %.1f MiB at the end%n",
                first.resident(), last.resident());
        out.printf(Locale.ROOT, "%d calls, %.0f calls/s, memory %.1f MiB after the first tenth, %.1f MiB at the end%n",
                n, rate, first.heap(), last.heap());
        return last.heap() <= 1.1 * first.heap() + 4;
    }

    private static double rate(int calls, long start) {
        return calls / ((System.nanoTime() - start) / 1e9);
    }
}
