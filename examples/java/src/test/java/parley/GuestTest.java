package parley;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.dylibso.chicory.wasm.ChicoryException;
import org.junit.jupiter.api.Test;

class GuestTest {
    private Guest guest;
    private HostFunctions store;

    @Test
    void staysInOrderWhenTheHostFailsOften() throws StepException {
        load();
        store = (family, request) -> {
            throw new IllegalStateException("the store is down");
        };
        for (int i = 0; i < 500; i++) {
            assertThrows(IllegalStateException.class, () -> guest.call("call", Sample.CALL));
        }
        store = (family, request) -> Sample.ROWS;
        assertEquals(1, StepResult.read(guest.call("call", Sample.CALL)).result().get("count").getAsInt());
    }

    @Test
    void staysInOrderWhenTheHostFailsWithAnError() throws StepException {
        load();
        store = (family, request) -> {
            throw new AssertionError("never so many rows");
        };
        assertThrows(AssertionError.class, () -> guest.call("call", Sample.CALL));
        store = (family, request) -> Sample.ROWS;
        assertEquals(1, StepResult.read(guest.call("call", Sample.CALL)).result().get("count").getAsInt());
    }

    @Test
    void refusesACallOutOfAHostFunction() {
        load();
        store = (family, request) -> guest.call("describe", "");
        assertThrows(IllegalStateException.class, () -> guest.call("call", Sample.CALL));
    }

    @Test
    void saysThatAnExportIsMissing() {
        load();
        assertThrows(ChicoryException.class, () -> guest.call("no_such_export", ""));
    }

    private void load() {
        guest = Guest.load(Main.MODULE, (family, request) -> store.answer(family, request));
    }
}
