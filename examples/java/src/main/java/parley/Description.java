package parley;

import com.google.gson.JsonObject;
import java.util.List;

/** A plugin's description (S2 of abi/README.md): the members that this host uses. */
record Description(int abi, List<Tool> tools) {
    /** A tool's description for agents. {@code needs} names the settings that the tool reads. */
    record Tool(
            String name, String description, JsonObject inputSchema, JsonObject outputSchema, boolean readOnly,
            List<String> needs) {}
}
