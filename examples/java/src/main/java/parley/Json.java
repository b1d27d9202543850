package parley;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonSyntaxException;
import com.google.gson.Strictness;
import java.util.List;

/** Reads JSON strictly, and writes it. Numbers keep their source text. */
final class Json {
    private static final Gson GSON = new GsonBuilder().setStrictness(Strictness.STRICT).create();

    private Json() {}

    static JsonElement parse(String text) {
        JsonElement value = GSON.fromJson(text, JsonElement.class);
        if (value == null) {
            throw new JsonSyntaxException("the JSON text is empty");
        }
        return value;
    }

    /** Reads a record or an object. Unknown members are ignored; absent members are null, 0 or false. */
    static <T> T read(JsonElement json, Class<T> type) {
        return GSON.fromJson(json, type);
    }

    /**
     * Returns an object of alternating names and values. A null value is written as null, but null
     * components of records and fields of objects are omitted.
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

    /** Returns a value as JSON. */
    static JsonElement tree(Object value) {
        if (value instanceof JsonElement json) {
            return json; // Gson would omit its nulls
        }
        if (value instanceof List<?> list) {
            return array(list);
        }
        return GSON.toJsonTree(value);
    }
}
