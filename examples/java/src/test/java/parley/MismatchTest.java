package parley;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MismatchTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            1                    | 1.0
            1                    | 1e0
            100                  | 1E+2
            0                    | -0.0
            9007199254740993     | 9007199254740993.0
            1e20000              | 10e19999
            {"a": 1, "b": [2]}   | {"b": [2.0], "a": 1}
            "\\u00e9"            | "é"
            null                 | null
            """)
    void equal(String expected, String actual) {
        check(expected, actual);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            9007199254740993     | 9007199254740992     | ``
            0.1                  | 0.10000000000000001  | ``
            1                    | "1"                  | ``
            0                    | false                | ``
            null                 | {}                   | ``
            [1, 2]               | [2, 1]               | /0
            [1]                  | [1, 2]               | /1
            {"a": {"b": 1}}      | {"a": {}}            | /a/b
            {}                   | {"a": null}          | /a
            {"a/b~c": 1}         | {"a/b~c": 2}         | /a~1b~0c
            """)
    void different(String expected, String actual, String pointer) {
        String message = assertThrows(Mismatch.class, () -> check(expected, actual)).getMessage();
        assertEquals(pointer, message.lines().findFirst().orElseThrow());
    }

    @Test
    void messageHasBothValuesInTheirSpelling() {
        String message = assertThrows(Mismatch.class, () -> check("[1e2]", "[100.5]")).getMessage();
        assertTrue(message.contains("expected 1e2") && message.contains("got      100.5"), message);
    }

    private static void check(String expected, String actual) {
        Mismatch.check("", Json.parse(expected), Json.parse(actual));
    }
}
