package parley;

import com.google.gson.JsonObject;
import java.nio.file.Path;

/**
 * Parley's module: its exports and host functions over JSON. It wraps a {@link Guest} and replaces
 * it after a trap. It takes one call at a time too.
 */
class Plugin {
    /** The operations of the host functions. */
    @FunctionalInterface
    interface Operations {
        /** Answers a request to an operation, such as {@code store.get}, or refuses it. */
        JsonObject answer(String operation, JsonObject request) throws StepException;
    }

    private final Path module;
    private Guest guest; // null: the next call loads it
    private HostFunctions functions;

    Plugin(Path module) {
        this.module = module;
        load();
    }

    private void load() {
        guest = Guest.load(module, (namespace, request) -> functions.answer(namespace, request));
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
            // After a trap the state of the guest is undefined. Loading can fail too, for
            // example if the thread is interrupted, so the next call loads a new guest.
            if (!guest.isReady()) {
                guest = null;
            }
        }
    }

    /** Returns the plugin's description. */
    final Description describe() {
        String description = call("describe", "", (namespace, request) -> {
            throw new IllegalStateException("describe makes no host calls");
        });
        return Json.read(Json.parse(description), Description.class);
    }

    /** Calls an export with JSON. An error output is thrown. */
    final StepResult ask(String export, JsonObject input, Operations operations) throws StepException {
        return StepResult.read(call(export, input.toString(), (namespace, request) ->
                reply(operations, namespace, Json.parse(request).getAsJsonObject()).toString()));
    }

    private static JsonObject reply(Operations operations, String namespace, JsonObject request) {
        try {
            return Json.object("ok", operations.answer(namespace + "." + request.get("op").getAsString(), request));
        } catch (StepException e) {
            return Json.object("error", Json.object("code", e.code(), "message", e.getMessage()));
        }
    }
}
