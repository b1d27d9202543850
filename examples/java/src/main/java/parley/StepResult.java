package parley;

import com.google.gson.JsonObject;

/** What a step returned (S2 of abi/README.md). A tool's failure is a result too, with a code beside it. */
record StepResult(JsonObject json) {
    /** Reads the output of {@code call} or {@code resume}. */
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
}
