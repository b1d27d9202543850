package parley;

import com.dylibso.chicory.wasm.ChicoryException;
import java.io.PrintStream;
import java.nio.file.Path;

/** Shows each kind of failure, and that the plugin answers afterwards. */
final class Failures implements HostFunctions {
    private final Path hostile;
    private final PrintStream out;
    private final Guest parley;
    private boolean storeIsDown;

    /** Requires the Parley plugin, and a plugin that traps if its input contains a ^. */
    Failures(Path module, Path hostile, PrintStream out) {
        this.hostile = hostile;
        this.out = out;
        this.parley = Guest.load(module, this);
    }

    void run() throws StepException {
        trap();
        stillAnswers();
        hostFailure();
        stillAnswers();
        unknownTool();
        stillAnswers();
        badArgument();
        stillAnswers();
    }

    @Override
    public String answer(String namespace, String request) {
        if (storeIsDown) {
            throw new IllegalStateException("the store is down");
        }
        return Sample.ROWS;
    }

    /** A trap makes its instance unusable, without an effect on other instances. */
    private void trap() {
        Guest guest = Guest.load(hostile, this);
        try {
            guest.call("call", Sample.call("hostile", "\"^\""));
        } catch (ChicoryException e) {
            out.println("a trap: " + e);
        }
        try {
            guest.call("call", Sample.CALL);
        } catch (IllegalStateException e) {
            out.println("the same instance once more: " + e);
        }
        guest = Guest.load(hostile, this);
        out.println("a new instance: " + guest.call("call", Sample.CALL));
    }

    private void hostFailure() throws StepException {
        storeIsDown = true;
        try {
            StepResult.read(parley.call("call", Sample.CALL));
        } catch (IllegalStateException e) {
            out.println("a host function fails: " + e);
        } finally {
            storeIsDown = false;
        }
    }

    private void unknownTool() {
        try {
            StepResult.read(parley.call("call", Sample.call("no_such_tool", "{}")));
        } catch (StepException e) {
            out.println("an unknown tool: " + e);
        }
    }

    private void badArgument() throws StepException {
        StepResult step = StepResult.read(parley.call("call", Sample.call("sessions_list", "{\"limit\": \"many\"}")));
        out.println("a bad argument: " + step.code() + ": " + step.result());
    }

    private void stillAnswers() throws StepException {
        StepResult step = StepResult.read(parley.call("call", Sample.CALL));
        if (step.result().get("count").getAsInt() != 1) {
            throw new IllegalStateException("unexpected answer: " + step.json());
        }
        out.println("and the plugin still answers");
    }
}
