package parley;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.dylibso.chicory.wasm.ChicoryException;
import org.junit.jupiter.api.Test;

class PluginTest {
    private static final HostFunctions ROWS = (namespace, request) -> Sample.ROWS;

    @Test
    void recoversFromATrap() {
        var hostile = new Plugin(Main.TRAP);
        String before = hostile.call("call", Sample.CALL, ROWS);
        assertThrows(ChicoryException.class, () -> hostile.call("call", Sample.call("hostile", "\"^\""), ROWS));
        assertEquals(before, hostile.call("call", Sample.CALL, ROWS));
    }

    @Test
    void recoversFromAnInterrupt() {
        var plugin = new Plugin(Main.MODULE);
        Thread.currentThread().interrupt();
        try {
            assertThrows(ChicoryException.class, () -> plugin.call("call", Sample.CALL, ROWS));
        } finally {
            Thread.interrupted();
        }
        assertOk(plugin);
    }

    @Test
    void recoversFromAnErrorOfTheHost() {
        var plugin = new Plugin(Main.MODULE);
        assertThrows(AssertionError.class, () -> plugin.call("call", Sample.CALL, (namespace, request) -> {
            throw new AssertionError("never so many rows");
        }));
        assertOk(plugin);
    }

    @Test
    void refusesACallFromAHostFunction() {
        var plugin = new Plugin(Main.MODULE);
        assertThrows(IllegalStateException.class, () -> plugin.call("call", Sample.CALL, (namespace, request) ->
                plugin.call("call", Sample.CALL, ROWS)));
        assertOk(plugin);
    }

    private static void assertOk(Plugin plugin) {
        assertTrue(plugin.call("call", Sample.CALL, ROWS).contains("\"result\""));
    }
}
