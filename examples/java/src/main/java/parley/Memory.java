package parley;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The memory of this process in MiB.
 *
 * @param heap what is in use after a collection; the memories of plugins are in it
 * @param resident what the system has given the process, which the JVM's collector decides; 0 where the system does not say
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
