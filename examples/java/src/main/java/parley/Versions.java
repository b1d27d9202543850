package parley;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The versions of SDK and runtime, from their jars. */
final class Versions {
    private Versions() {}

    static String line() {
        return "chicory-sdk-core %s (Chicory %s), Java %s".formatted(
                of("org.extism.sdk", "chicory-sdk-core"),
                of("com.dylibso.chicory", "runtime"),
                System.getProperty("java.version"));
    }

    private static String of(String group, String artifact) {
        var properties = new Properties();
        try (var in = Versions.class.getResourceAsStream(
                "/META-INF/maven/%s/%s/pom.properties".formatted(group, artifact))) {
            properties.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties.getProperty("version");
    }
}
