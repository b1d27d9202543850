package parley;

import static java.util.stream.Collectors.joining;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.StreamSupport;

/** Makes the calls of ../fixture.json in a host, and prints results, runs and deliveries. */
final class Demo {
    /** Settings, sessions, the replies of each agent in order, and the calls. */
    private record Fixture(JsonObject config, List<Stored> sessions, Map<String, List<Line>> replies, List<Call> calls) {}

    private record Stored(Session session, List<JsonObject> messages) {}

    private record Line(String text, long seconds) {}

    private record Call(String tool, JsonObject args) {}

    private static final String CALLER = "agent:main:main";

    private final PrintStream out;
    private final Fixture fixture;
    private final Host host;
    private final Queue<String> events = new ConcurrentLinkedQueue<>();

    Demo(Plugin plugin, Path file, PrintStream out) throws IOException {
        this.out = out;
        this.fixture = Json.read(Json.parse(Files.readString(file)), Fixture.class);
        var agents = new HashMap<String, Agent>();
        fixture.replies.forEach((id, lines) -> agents.put(id, scripted(lines)));
        this.host = new Host(plugin, fixture.config, agents, this::deliver);
    }

    void run() throws StepException, ExecutionException, InterruptedException {
        for (Stored stored : fixture.sessions) {
            host.add(stored.session, stored.messages);
        }
        for (Call call : fixture.calls) {
            JsonObject result = host.call(call.tool, call.args, CALLER).get().result();
            out.println(call.tool + ": " + summarize(call.tool, result));
            host.idle();
            while (!events.isEmpty()) {
                out.println("  " + events.remove());
            }
        }
        host.parked().forEach(parked -> out.println("parked: " + parked.flow().tool() + ": " + parked.error()));
    }

    private Agent scripted(List<Line> lines) {
        var next = new ConcurrentLinkedQueue<>(lines);
        return run -> {
            Line line = next.remove();
            TimeUnit.SECONDS.sleep(line.seconds);
            events.add("run in %s: %s -> %s".formatted(
                    run.task().sessionKey(), run.task().message().split("[.\n]", 2)[0], line.text.split("\n", 2)[0]));
            return line.text;
        };
    }

    private void deliver(SessionContext.Deliver destination, String text, String id) {
        events.add(destination.allowed()
                ? "delivered to %s %s: %s".formatted(destination.target().channel(), destination.target().to(), text.replace("\n", " | "))
                : "not delivered: " + destination.reason());
    }

    /** Summarizes a tool's result in one line. */
    private static String summarize(String tool, JsonObject result) {
        return switch (tool) {
            case "sessions_list" -> each(result, "sessions", s -> "%s (%s)".formatted(text(s, "key"), text(s, "kind")));
            case "sessions_history" -> each(result, "messages", m -> "%s \"%s\"".formatted(text(m, "role"), content(m)));
            case "sessions_spawn" -> text(result, "status") + ": " + text(result, "childSessionKey");
            default -> text(result, "status") + ": " + text(result, result.has("reply") ? "reply" : "error");
        };
    }

    private static String each(JsonObject result, String member, Function<JsonObject, String> brief) {
        return StreamSupport.stream(result.getAsJsonArray(member).spliterator(), false)
                .map(JsonElement::getAsJsonObject)
                .map(brief)
                .collect(joining(", "));
    }

    private static String content(JsonObject message) {
        JsonElement content = message.get("content");
        return content.isJsonArray() ? text(content.getAsJsonArray().get(0).getAsJsonObject(), "text") : content.getAsString();
    }

    private static String text(JsonObject object, String member) {
        return object.get(member).getAsString();
    }
}
