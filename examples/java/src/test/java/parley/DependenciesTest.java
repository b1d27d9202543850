package parley;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Maven has no lock file, so dependencies.sha256 has the digest of every jar of this program. */
class DependenciesTest {
    @Test
    void jarsMatchTheirDigests() throws IOException, NoSuchAlgorithmException {
        var locked = new TreeMap<String, String>();
        for (String line : Files.readAllLines(Path.of("dependencies.sha256"))) {
            String[] digestAndName = line.split(" +");
            locked.put(digestAndName[1], digestAndName[0]);
        }
        var used = new TreeMap<String, String>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (entry.endsWith(".jar")) {
                Path jar = Path.of(entry);
                byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(jar));
                used.put(jar.getFileName().toString(), HexFormat.of().formatHex(digest));
            }
        }
        assertEquals(locked, used);
    }
}
