package parley;

import com.google.gson.JsonObject;
import java.nio.file.Path;

/**
 * Parley's module: its exports and its host functions over JSON. It is a {@link Guest} that comes
 * back after a trap, and takes one call at a time too.
 */
class Plugin {
    /** The operations of the host functions. */
    @FunctionalInterface
    interface Operations {
        /** Answers a request to an operation, such as {@code store.get}, or refuses it. */
        JsonObject answer(String operation, JsonObject request) throws StepException;
    }

    private final Path module;
    private Guest guest; // null: to be loaded by the next call
    private HostFunctions functions;

    Plugin(Path module) {
        this.module = module;
        load();
    }

    private void load() {
        guest = Guest.load(module, (family, request) -> functions.answer(family, request));
    }

    /** Calls an export with a text, and returns the text of its output. */
    String call(String export, String input, HostFunctions functions) {
        if (guest == null) {
            load();
        }
        if (!guest.isReady()) {
            throw new IllegalStateException("a host function must not call its own plugin");
        }
        this.functions = functions;
        try {
            return guest.call(export, input);
        } finally {
            // Nobody knows what state a trap has left it in. Loading can fail as well, above
            // all when the thread is interrupted, so it is left to the next call.
            if (!guest.isReady()) {
                guest = null;
            }
        }
    }

    /** What the plugin says of itself. */
    final Description describe() {
        String description = call("describe", "", (family, request) -> {
            throw new IllegalStateException("describe asks nothing");
        });
        return Json.read(Json.parse(description), Description.class);
    }

    /** The same with JSON. An output that is an error is thrown. */
    final StepResult ask(String export, JsonObject input, Operations operations) throws StepException {
        return StepResult.read(call(export, input.toString(), (family, request) ->
                reply(operations, family, Json.parse(request).getAsJsonObject()).toString()));
    }

    private static JsonObject reply(Operations operations, String family, JsonObject request) {
        try {
            return Json.object("ok", operations.answer(family + "." + request.get("op").getAsString(), request));
        } catch (StepException e) {
            return Json.object("error", Json.object("code", e.code(), "message", e.getMessage()));
        }
    }
}
