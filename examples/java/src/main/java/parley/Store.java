package parley;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.regex.Pattern.CASE_INSENSITIVE;
import static java.util.regex.Pattern.LITERAL;
import static java.util.regex.Pattern.UNICODE_CASE;
import static java.util.stream.Collectors.joining;

import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Sessions in memory, and the reading host functions (S4 of abi/README.md). The host's lock guards it. */
final class Store {
    /** A session, its transcript, and its context, which changes only with the session and the settings. */
    record Row(Session session, SessionContext context, List<JsonObject> messages) {
        boolean archived() {
            return session.archivedAt != null;
        }

        /** Returns the messages without those of some roles, newest first. */
        private List<JsonObject> newest(List<String> excludeRoles) {
            var newest = new ArrayList<JsonObject>();
            for (int i = messages.size(); i > 0; i--) {
                JsonObject message = messages.get(i - 1);
                if (!excludeRoles.contains(role(message))) {
                    newest.add(Json.object("seq", i, "message", message));
                }
            }
            return newest;
        }
    }

    /** Returns a message's role, or "" if it has none: a transcript may contain messages of other origin. */
    private static String role(JsonObject message) {
        return message.get("role") instanceof JsonPrimitive role ? role.getAsString() : "";
    }

    /** The visible sessions: the union of its members. */
    record Scope(List<String> agents, List<String> keys, String spawnedBy) {
        Scope {
            agents = orEmpty(agents);
            keys = orEmpty(keys);
        }

        private boolean sees(Session session) {
            return keys.contains(session.key)
                    || spawnedBy != null && spawnedBy.equals(session.spawnedBy)
                    || agents.stream().anyMatch(pattern -> session.agentId.matches(regex(pattern)));
        }

        /** In a pattern of agent ids only {@code *} is special. */
        private static String regex(String pattern) {
            return Stream.of(pattern.split("\\*", -1)).map(Pattern::quote).collect(joining(".*"));
        }
    }

    /** A request to store.list. {@code after} has only updatedAt and key. */
    record Query(
            Scope scope, Session after, List<String> kinds, String agentId, String label, String search,
            long activeSince, boolean includeArchived, int limit, int messages) {
        Query {
            kinds = orEmpty(kinds);
            agentId = orEmpty(agentId);
            label = orEmpty(label);
            search = orEmpty(search);
        }

        private boolean takes(Row row) {
            Session session = row.session;
            return (includeArchived || !row.archived())
                    && session.updatedAt >= activeSince
                    && (kinds.isEmpty() || kinds.contains(row.context.kind()))
                    && (agentId.isEmpty() || agentId.equals(session.agentId))
                    && (label.isEmpty() || label.equals(session.label))
                    && finds(session)
                    && (after == null || ORDER.compare(after, session) < 0);
        }

        private boolean finds(Session session) {
            Pattern text = Pattern.compile(search, LITERAL | CASE_INSENSITIVE | UNICODE_CASE);
            return Stream.of(session.key, session.label, session.displayName, session.subject)
                    .anyMatch(name -> name != null && text.matcher(name).find());
        }
    }

    /** A request to store.history. */
    record Part(String sessionKey, long before, int skip, int limit, List<String> excludeRoles) {
        Part {
            excludeRoles = orEmpty(excludeRoles);
        }
    }

    private static final Comparator<Session> ORDER = Comparator.<Session>comparingLong(session -> session.updatedAt)
            .reversed()
            .thenComparing(session -> session.key.getBytes(UTF_8), Arrays::compareUnsigned);

    private final Map<String, Row> rows = new HashMap<>();

    void put(Session session, SessionContext context, List<JsonObject> messages) {
        rows.put(session.key, new Row(session, context, new ArrayList<>(messages)));
    }

    /** Returns a session by its key, or null. */
    Row row(String key) {
        return rows.get(key);
    }

    void delete(String key) {
        rows.remove(key);
    }

    /** Appends a text to a transcript, if the session still exists. */
    void append(String key, String role, String text, JsonObject provenance) {
        Row row = rows.get(key);
        if (row == null) {
            return;
        }
        long now = System.currentTimeMillis();
        JsonObject message = Json.object(
                "role", role, "content", List.of(Json.object("type", "text", "text", text)), "timestamp", now);
        if (provenance != null) {
            message.add("provenance", provenance);
        }
        row.messages.add(message);
        row.session.updatedAt = now;
    }

    JsonObject get(String key) {
        Row row = rows.get(key);
        return Json.object("session", row == null ? null : row.session);
    }

    JsonObject resolve(String sessionId, Scope scope) {
        return Json.object("session", visible(scope)
                .map(Row::session)
                .filter(session -> session.sessionId.equals(sessionId))
                .findFirst()
                .orElse(null));
    }

    JsonObject list(Query query) {
        List<Row> found = visible(query.scope).filter(query::takes).toList();
        List<JsonObject> page = found.stream().limit(query.limit).map(row -> listed(row, query.messages)).toList();
        return Json.object("rows", page, "more", found.size() > query.limit);
    }

    JsonObject history(Part part) {
        Row row = rows.get(part.sessionKey);
        List<JsonObject> newest = row == null ? List.of() : row.newest(part.excludeRoles);
        List<JsonObject> rest = newest.stream()
                .filter(message -> part.before == 0 || message.get("seq").getAsLong() < part.before)
                .skip(part.skip)
                .toList();
        return Json.object("messages", rest.stream().limit(part.limit).toList(), "more", rest.size() > part.limit);
    }

    private Stream<Row> visible(Scope scope) {
        return rows.values().stream()
                .filter(row -> !row.context.hidden() && (scope == null || scope.sees(row.session)))
                .sorted(Comparator.comparing(Row::session, ORDER));
    }

    private static JsonObject listed(Row row, int messages) {
        JsonObject listed = Json.object("session", row.session);
        if (messages > 0) {
            var newest = new ArrayList<>(row.newest(List.of("toolResult", "tool")).stream().limit(messages).toList());
            Collections.reverse(newest);
            listed.add("messages", Json.array(newest));
        }
        return listed;
    }

    private static List<String> orEmpty(List<String> list) {
        return Objects.requireNonNullElse(list, List.of());
    }

    private static String orEmpty(String text) {
        return Objects.requireNonNullElse(text, "");
    }
}
