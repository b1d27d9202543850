package parley;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonSyntaxException;
import com.google.gson.Strictness;
import java.util.List;

/** Reads JSON strictly, and makes it. Numbers keep their source text, and are written as it. */
final class Json {
    private static final Gson GSON = new GsonBuilder().setStrictness(Strictness.STRICT).create();

    private Json() {}

    static JsonElement parse(String text) {
        JsonElement value = GSON.fromJson(text, JsonElement.class);
        if (value == null) {
            throw new JsonSyntaxException("no JSON at all");
        }
        return value;
    }

    /** Reads a record or an object. What it has no component for is passed over, what is absent is null, 0 or false. */
    static <T> T read(JsonElement json, Class<T> type) {
        return GSON.fromJson(json, type);
    }

    /**
     * An object of names and values in turn. A null is written as one, but components of records
     * and fields of objects that are null are left out.
     */
    static JsonObject object(Object... namesAndValues) {
        var object = new JsonObject();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            object.add((String) namesAndValues[i], tree(namesAndValues[i + 1]));
        }
        return object;
    }

    static JsonArray array(List<?> values) {
        var array = new JsonArray();
        values.forEach(value -> array.add(tree(value)));
        return array;
    }

    /** A value as JSON. */
    static JsonElement tree(Object value) {
        if (value instanceof JsonElement json) {
            return json; // Gson would leave out its nulls
        }
        if (value instanceof List<?> list) {
            return array(list);
        }
        return GSON.toJsonTree(value);
    }
}
