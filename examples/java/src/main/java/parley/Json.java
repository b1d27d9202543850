package parley;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonSyntaxException;
import com.google.gson.Strictness;

/** Reads JSON strictly. Numbers keep their source text, and are written as it. */
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
}
