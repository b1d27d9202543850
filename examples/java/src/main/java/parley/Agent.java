package parley;

/** Answers runs. */
@FunctionalInterface
interface Agent {
    /**
     * Says what the run's task asks for. Runs of several sessions come at once. It is interrupted
     * when the run's time is over, and the run has failed when it throws. Null is an empty reply.
     */
    String answer(Run run) throws Exception;
}
