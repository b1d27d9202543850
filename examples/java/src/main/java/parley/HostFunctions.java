package parley;

/** The host functions of the ABI (S4 of abi/README.md). */
@FunctionalInterface
interface HostFunctions {
    /**
     * Answers one request.
     *
     * @param namespace {@code store}, {@code agent} or {@code deliver}
     * @param request JSON with the operation in {@code op}
     * @return JSON: {@code {"ok": …}} or {@code {"error": {code, message}}}
     * @throws RuntimeException if the host fails; the call of the plugin then throws it, as with an {@link Error}
     */
    String answer(String namespace, String request);
}
