package parley;

import com.dylibso.chicory.wasm.ChicoryException;
import com.google.gson.JsonObject;
import java.nio.file.Path;
import org.extism.sdk.chicory.ExtismException;

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
    private Guest guest;
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
        this.functions = functions;
        try {
            return guest.call(export, input);
        } catch (ChicoryException | ExtismException e) {
            load(); // nobody knows what state a trap has left it in
            throw e;
        }
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
