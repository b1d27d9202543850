package parley;

/** A failed step, which has no effects, or a request that a host function refuses. */
final class StepException extends Exception {
    private static final long serialVersionUID = 1;

    private final String code;

    StepException(String code, String message) {
        super(message);
        this.code = code;
    }

    /** One of the ABI's codes (S3). Programs compare the code; the message is for people. */
    String code() {
        return code;
    }

    @Override
    public String toString() {
        return "StepException: " + code + ": " + getMessage();
    }
}
