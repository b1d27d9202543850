package parley;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.math.BigDecimal;
import java.util.LinkedHashSet;

/** The first difference from an expected value, with its JSON pointer. */
final class Mismatch extends RuntimeException {
    private static final long serialVersionUID = 1;

    Mismatch(String pointer, Object expected, Object actual) {
        super("%s%n  expected %s%n  got      %s".formatted(
                pointer, expected == null ? "nothing" : expected, actual == null ? "nothing" : actual));
    }

    /**
     * Throws a mismatch unless both are the same JSON value. Members may be in any order. Numbers
     * are compared exactly: 1 and 1.0 are equal, 9007199254740993 and 9007199254740992 are not.
     */
    static void check(String pointer, JsonElement expected, JsonElement actual) {
        if (expected instanceof JsonObject e && actual instanceof JsonObject a) {
            checkMembers(pointer, e, a);
        } else if (expected instanceof JsonArray e && actual instanceof JsonArray a) {
            checkItems(pointer, e, a);
        } else if (!(isNumber(expected) && isNumber(actual)
                ? decimal(expected).compareTo(decimal(actual)) == 0
                : expected.equals(actual))) {
            throw new Mismatch(pointer, expected, actual);
        }
    }

    private static void checkMembers(String pointer, JsonObject expected, JsonObject actual) {
        var names = new LinkedHashSet<>(expected.keySet());
        names.addAll(actual.keySet());
        for (String name : names) {
            String member = pointer + "/" + name.replace("~", "~0").replace("/", "~1");
            if (!expected.has(name) || !actual.has(name)) {
                throw new Mismatch(member, expected.get(name), actual.get(name));
            }
            check(member, expected.get(name), actual.get(name));
        }
    }

    private static void checkItems(String pointer, JsonArray expected, JsonArray actual) {
        for (int i = 0; i < Math.max(expected.size(), actual.size()); i++) {
            String member = pointer + "/" + i;
            if (i >= expected.size() || i >= actual.size()) {
                throw new Mismatch(member, i < expected.size() ? expected.get(i) : null, i < actual.size() ? actual.get(i) : null);
            }
            check(member, expected.get(i), actual.get(i));
        }
    }

    private static boolean isNumber(JsonElement value) {
        return value instanceof JsonPrimitive primitive && primitive.isNumber();
    }

    /** Parses the source text, because Gson's getAsBigDecimal refuses very large or small numbers. */
    private static BigDecimal decimal(JsonElement number) {
        return new BigDecimal(number.getAsString());
    }
}
