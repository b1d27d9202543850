package parley;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.dylibso.chicory.wasm.ChicoryException;
import org.junit.jupiter.api.Test;

class PluginTest {
    private static final HostFunctions ROWS = (family, request) -> Sample.ROWS;

    @Test
    void comesBackAfterATrap() {
        var hostile = new Plugin(Main.TRAP);
        String before = hostile.call("call", Sample.CALL, ROWS);
        assertThrows(ChicoryException.class, () -> hostile.call("call", Sample.call("hostile", "\"^\""), ROWS));
        assertEquals(before, hostile.call("call", Sample.CALL, ROWS));
    }

    @Test
    void comesBackAfterAnInterrupt() {
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
    void comesBackAfterAnErrorOfTheHost() {
        var plugin = new Plugin(Main.MODULE);
        assertThrows(AssertionError.class, () -> plugin.call("call", Sample.CALL, (family, request) -> {
            throw new AssertionError("never so many rows");
        }));
        assertOk(plugin);
    }

    @Test
    void refusesACallOutOfAHostFunction() {
        var plugin = new Plugin(Main.MODULE);
        assertThrows(IllegalStateException.class, () -> plugin.call("call", Sample.CALL, (family, request) ->
                plugin.call("call", Sample.CALL, ROWS)));
        assertOk(plugin);
    }

    private static void assertOk(Plugin plugin) {
        assertTrue(plugin.call("call", Sample.CALL, ROWS).contains("\"result\""));
    }
}
