package parley;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.file.Path;

/** The command line. Paths are relative to the directory of this example. */
final class Main {
    static final Path MODULE = Path.of("../../plugin/wasm/parley.wasm");
    static final Path WORLD = Path.of("../fixture.json");
    static final Path TRAP = Path.of("../../testdata/hostile/trap.wasm");
    static final Path RECORDINGS = Path.of("../../testdata/recordings");

    private static final String USAGE = """
            usage: java -jar target/parley.jar demo | replay [DIR] | calls [N] | failures | version""";

    private Main() {}

    public static void main(String[] args) throws Exception {
        var out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, UTF_8);
        String argument = args.length > 1 ? args[1] : null;
        boolean ok = switch (args.length == 0 ? "" : args[0]) {
            case "demo" -> {
                new Demo(new Plugin(MODULE), WORLD, out).run();
                yield true;
            }
            case "replay" -> new Replay(MODULE, out).run(argument == null ? RECORDINGS : Path.of(argument));
            case "calls" -> Calls.run(MODULE, argument == null ? 100_000 : Integer.parseInt(argument), out, System.err);
            case "failures" -> {
                new Failures(MODULE, TRAP, out).run();
                yield true;
            }
            case "version" -> {
                out.println(Versions.line());
                yield true;
            }
            default -> {
                System.err.println(USAGE);
                yield false;
            }
        };
        System.exit(ok ? 0 : 1);
    }
}
