package parley;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** A recorded ABI conversation between host and plugin (testdata/recordings/README.md). */
record Recording(String id, List<Exchange> exchanges) {
    /** A call of an export, its host calls, and its output. */
    record Exchange(String export, JsonElement input, List<HostCall> calls, JsonElement output) {}

    /** A call of a host function. */
    record HostCall(String family, JsonElement request, JsonElement reply) {}

    /** Returns the files of all recordings below a directory, in order. */
    static List<Path> files(Path dir) throws IOException {
        try (Stream<Path> paths = Files.walk(dir)) {
            return paths.filter(Files::isRegularFile)
                    .filter(path -> path.toString().endsWith(".json") && !path.endsWith("index.json"))
                    .sorted()
                    .toList();
        }
    }

    /** Reads the recordings of a file. */
    static List<Recording> read(Path file) throws IOException {
        return objects(Json.parse(Files.readString(file))).map(Recording::recording).toList();
    }

    private static Recording recording(JsonObject json) {
        return new Recording(
                json.get("id").getAsString(),
                objects(json.get("exchanges")).map(Recording::exchange).toList());
    }

    private static Exchange exchange(JsonObject json) {
        return new Exchange(
                json.get("export").getAsString(),
                json.get("input"),
                objects(json.get("calls")).map(Recording::hostCall).toList(),
                json.get("output"));
    }

    private static HostCall hostCall(JsonObject json) {
        return new HostCall(json.get("family").getAsString(), json.get("request"), json.get("reply"));
    }

    private static Stream<JsonObject> objects(JsonElement array) {
        return array.getAsJsonArray().asList().stream().map(JsonElement::getAsJsonObject);
    }
}
