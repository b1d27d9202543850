package parley;

import com.google.gson.JsonObject;
import java.util.List;

/** What a plugin says of itself (S2 of abi/README.md), as far as this host reads it. */
record Description(int abi, List<Tool> tools) {
    /** A tool, as it is offered to agents. {@code needs} names the settings that it wants. */
    record Tool(
            String name, String description, JsonObject inputSchema, JsonObject outputSchema, boolean readOnly,
            List<String> needs) {}
}
