package parley;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

/** What a step returned (S2 of abi/README.md). A tool's failure is a result too, with a code beside it. */
record StepResult(JsonObject json) {
    /** What wakes the flow next: the end of a run, a time, or whichever comes first. */
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

    /** The answer to the caller, or null when the step gives none. */
    JsonObject result() {
        return json.getAsJsonObject("result");
    }

    /** The code of a tool's failure, or null. */
    String code() {
        return json.has("code") ? json.get("code").getAsString() : null;
    }

    /** What the flow waits for, or null when it is over. */
    Wait waitsFor() {
        return Json.read(json.get("wait"), Wait.class);
    }
}
