package parley;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The memory of this process in MiB.
 *
 * @param heap the heap in use after a collection, including the memories of plugins
 * @param resident the resident set, which depends on the JVM's collector; 0 if the system does not report it
 */
record Memory(double heap, double resident) {
    private static final Path STATUS = Path.of("/proc/self/status");

    static Memory now() throws IOException {
        var bean = ManagementFactory.getMemoryMXBean();
        bean.gc();
        return new Memory(bean.getHeapMemoryUsage().getUsed() / (1024.0 * 1024), residentSet());
    }

    private static double residentSet() throws IOException {
        if (!Files.exists(STATUS)) {
            return 0;
        }
        return Files.readAllLines(STATUS).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToDouble(line -> Double.parseDouble(line.replaceAll("\\D", "")) / 1024)
                .sum();
    }
}
