package parley;

/** Answers runs. */
@FunctionalInterface
interface Agent {
    /**
     * Answers the run's task. May be called concurrently for several sessions. The thread is
     * interrupted at the run's time limit. If this throws, the run fails. Null is an empty reply.
     */
    String answer(Run run) throws Exception;
}
