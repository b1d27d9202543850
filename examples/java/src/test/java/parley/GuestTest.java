package parley;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.dylibso.chicory.wasm.ChicoryException;
import org.junit.jupiter.api.Test;

class GuestTest {
    private Guest guest;
    private HostFunctions store;

    @Test
    void survivesManyFailuresOfTheHost() throws StepException {
        load();
        store = (namespace, request) -> {
            throw new IllegalStateException("the store is down");
        };
        for (int i = 0; i < 500; i++) {
            assertThrows(IllegalStateException.class, () -> guest.call("call", Sample.CALL));
        }
        store = (namespace, request) -> Sample.ROWS;
        assertEquals(1, StepResult.read(guest.call("call", Sample.CALL)).result().get("count").getAsInt());
    }

    @Test
    void survivesAnErrorOfTheHost() throws StepException {
        load();
        store = (namespace, request) -> {
            throw new AssertionError("never so many rows");
        };
        assertThrows(AssertionError.class, () -> guest.call("call", Sample.CALL));
        store = (namespace, request) -> Sample.ROWS;
        assertEquals(1, StepResult.read(guest.call("call", Sample.CALL)).result().get("count").getAsInt());
    }

    @Test
    void refusesACallFromAHostFunction() {
        load();
        store = (namespace, request) -> guest.call("describe", "");
        assertThrows(IllegalStateException.class, () -> guest.call("call", Sample.CALL));
    }

    @Test
    void reportsAMissingExport() {
        load();
        assertThrows(ChicoryException.class, () -> guest.call("no_such_export", ""));
    }

    private void load() {
        guest = Guest.load(Main.MODULE, (namespace, request) -> store.answer(namespace, request));
    }
}
