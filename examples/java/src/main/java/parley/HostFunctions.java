package parley;

/** What a plugin may ask of its host: the three imports of the ABI (S4 of abi/README.md). */
@FunctionalInterface
interface HostFunctions {
    /**
     * Answers one request.
     *
     * @param family {@code store}, {@code agent} or {@code deliver}
     * @param request JSON with the operation in {@code op}
     * @return JSON: {@code {"ok": …}} or {@code {"error": {code, message}}}
     * @throws RuntimeException when the host itself fails; the call of the plugin then throws it, as it does an {@link Error}
     */
    String answer(String family, String request);
}
