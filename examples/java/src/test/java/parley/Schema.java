package parley;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.harrel.jsonschema.Validator;
import dev.harrel.jsonschema.ValidatorFactory;
import dev.harrel.jsonschema.providers.GsonNode;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import parley.Recorder.Message;

/** The messages of the ABI as JSON Schema. */
final class Schema {
    private static final Path FILE = Path.of("../../abi/schema/messages.json");

    private final Validator validator =
            new ValidatorFactory().withJsonNodeFactory(new GsonNode.Factory()).createValidator();
    private final URI uri;

    Schema() throws IOException {
        uri = validator.registerSchema(Files.readString(FILE));
    }

    Validator.Result validate(Message message) {
        return validator.validate(uri.resolve("#/$defs/" + message.name()), message.text());
    }

    void assertValid(List<Message> messages) {
        for (Message message : messages) {
            Validator.Result result = validate(message);
            assertTrue(result.isValid(), () -> message + "\n" + result.getErrors());
        }
    }
}
