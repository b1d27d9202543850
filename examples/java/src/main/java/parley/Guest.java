package parley;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.dylibso.chicory.compiler.MachineFactoryCompiler;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Machine;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.extism.sdk.chicory.CurrentPlugin;
import org.extism.sdk.chicory.ExtismHostFunction;
import org.extism.sdk.chicory.ExtismValType;
import org.extism.sdk.chicory.Manifest;
import org.extism.sdk.chicory.ManifestWasm;
import org.extism.sdk.chicory.Plugin;

/**
 * One instance of a plugin and its host functions. It takes one call at a time, from any thread,
 * but not from a host function. After a trap, or if the plugin returns a value other than 0, it
 * takes no further calls: load another instance.
 */
final class Guest {
    /** An offset that the plugin treats as a failure of its step. */
    private static final long NO_REPLY = 0;

    private static final CompiledModules COMPILED = new CompiledModules();

    private final HostFunctions host;
    private final Plugin plugin;
    private boolean ready = true;
    private Throwable hostFailure;

    private Guest(Path module, HostFunctions host) {
        this.host = host;
        // By default the SDK interprets the module, ten times slower, and provides WASI.
        var options = new Manifest.Options().withWasi(null).withAoT().withMachineFactory(Guest::compile);
        var manifest = Manifest.ofWasms(ManifestWasm.fromFilePath(module).build()).withOptions(options).build();
        this.plugin = Plugin.ofManifest(manifest)
                .withHostFunctions(Stream.of("store", "agent", "deliver")
                        .map(this::hostFunction)
                        .toArray(ExtismHostFunction[]::new))
                .build();
    }

    /** Loads a module: compiles it, instantiates it and runs its start function. */
    static Guest load(Path module, HostFunctions host) {
        return new Guest(module, host);
    }

    /**
     * Calls an export with JSON and returns its JSON output.
     *
     * @throws com.dylibso.chicory.wasm.ChicoryException when the plugin traps
     * @throws org.extism.sdk.chicory.ExtismException when it returns a value other than 0
     * @throws RuntimeException or an {@link Error} that a host function threw
     */
    String call(String export, String input) {
        if (!ready) {
            throw new IllegalStateException("the instance is in a call, or was left in one by a trap");
        }
        byte[] bytes = input.getBytes(UTF_8);
        ready = false;
        hostFailure = null;
        byte[] output = plugin.call(export, bytes);
        ready = true;
        if (hostFailure instanceof Error error) {
            throw error;
        }
        if (hostFailure != null) {
            throw (RuntimeException) hostFailure; // host functions throw no checked exceptions
        }
        return new String(output, UTF_8);
    }

    /** Whether it accepts a call: it is not in a call, and has not trapped. */
    boolean isReady() {
        return ready;
    }

    private static Machine compile(Instance instance) {
        return MachineFactoryCompiler.builder(instance.module()).withCache(COMPILED).compile().apply(instance);
    }

    private ExtismHostFunction hostFunction(String namespace) {
        var offset = List.of(ExtismValType.I64);
        return ExtismHostFunction.of(namespace, offset, offset, (plugin, params, results) ->
                results.setLong(0, answer(plugin, namespace, params.getLong(0))));
    }

    /**
     * Answers a request in the plugin's memory. An exception must not unwind the plugin: that would
     * not restore the plugin's own stack, which would overflow after about fifty failures. It is
     * stored until the plugin has returned.
     */
    private long answer(CurrentPlugin plugin, String namespace, long request) {
        if (hostFailure != null) {
            return NO_REPLY;
        }
        try {
            return plugin.memory().writeString(host.answer(namespace, plugin.memory().readString(request)));
        } catch (Throwable e) {
            hostFailure = e;
            return NO_REPLY;
        }
    }
}
