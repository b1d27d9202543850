package parley;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A plugin that records all messages between host and plugin. */
final class Recorder extends Plugin {
    /** A text, and the name of its definition in abi/schema/messages.json. */
    record Message(String name, String text) {}

    final List<Message> messages = new ArrayList<>();

    Recorder(Path module) {
        super(module);
    }

    @Override
    String call(String export, String input, HostFunctions functions) {
        if (!input.isEmpty()) {
            messages.add(new Message(export, input));
        }
        String output = super.call(export, input, (namespace, request) -> {
            String operation = namespace + "." + Json.parse(request).getAsJsonObject().get("op").getAsString();
            messages.add(new Message(operation + ".request", request));
            String reply = functions.answer(namespace, request);
            messages.add(new Message(operation + ".reply", reply));
            return reply;
        });
        messages.add(new Message(
                switch (export) {
                    case "describe" -> "description";
                    case "derive" -> "facts";
                    default -> "step";
                },
                output));
        return output;
    }
}
