package parley;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

/** The output of a step (S2 of abi/README.md). A tool's failure is a result too, with a code. */
record StepResult(JsonObject json) {
    /** The condition that resumes the flow: the end of a run, a time, or the first of both. */
    record Wait(String run, long until, JsonElement state, int stateVersion) {}

    /** Reads the output of {@code call}, {@code resume} or {@code derive}. */
    static StepResult read(String output) throws StepException {
        JsonObject json = Json.parse(output).getAsJsonObject();
        if (json.has("error")) {
            JsonObject error = json.getAsJsonObject("error");
            throw new StepException(error.get("code").getAsString(), error.get("message").getAsString());
        }
        return new StepResult(json);
    }

    /** Returns the answer to the caller, or null if the step has none. */
    JsonObject result() {
        return json.getAsJsonObject("result");
    }

    /** Returns the code of a tool's failure, or null. */
    String code() {
        return json.has("code") ? json.get("code").getAsString() : null;
    }

    /** Returns the wait of the flow, or null if the flow has ended. */
    Wait waitsFor() {
        return Json.read(json.get("wait"), Wait.class);
    }
}
