package parley;

/** A step that failed, so that nothing it did counts; or a request that a host function refuses. */
final class StepException extends Exception {
    private static final long serialVersionUID = 1;

    private final String code;

    StepException(String code, String message) {
        super(message);
        this.code = code;
    }

    /** One of the ABI's codes (S3). Codes are compared, messages are for people. */
    String code() {
        return code;
    }

    @Override
    public String toString() {
        return "StepException: " + code + ": " + getMessage();
    }
}
