// Parley's module in Node: its exports and its host functions as functions over JSON.
import { readFile } from "node:fs/promises";

const file = new URL("../../plugin/wasm/parley.wasm", import.meta.url);

// The SDK; EXTISM_SDK=extism-2 takes the release candidate of its next version.
const sdk = process.env.EXTISM_SDK ?? "@extism/extism";
const { default: createPlugin } = await import(sdk);

/** The versions of SDK and runtime. */
export async function version() {
  const { version } = JSON.parse(await readFile(new URL(`node_modules/${sdk}/package.json`, import.meta.url)));
  return `@extism/extism ${version}, Node.js ${process.versions.node}`;
}

/** A step that failed, or a request that is refused: the code is compared, the message is for people. */
export class ParleyError extends Error {
  name = "ParleyError";

  constructor({ code, message }) {
    super(message);
    this.code = code;
  }
}

/**
 * One instance of the module. It takes one call at a time, and its host functions cannot
 * call it: what they ask the plugin, they ask another instance.
 */
export class Plugin {
  #module;
  #instance;
  #serve;
  #failure;

  static async load(module) {
    const plugin = new Plugin();
    plugin.#module = await WebAssembly.compile(module ?? (await readFile(file)));
    await plugin.#start();
    return plugin;
  }

  async #start() {
    const family = (name) => (memory, request) => {
      if (this.#failure) return 0n;
      try {
        return memory.store(this.#serve(name, memory.read(request).text()));
      } catch (error) {
        // Thrown through the guest, it would leave the guest's stack as it is. Offset 0
        // is no reply, and ends the step.
        this.#failure = { error };
        return 0n;
      }
    };
    this.#instance = await createPlugin(
      { wasm: [{ module: this.#module }] },
      { functions: { "extism:host/user": { store: family("store"), agent: family("agent"), deliver: family("deliver") } } },
    );
  }

  /**
   * Calls an export with a text and returns the text of its output. serve answers the
   * requests to the host functions: (family, request) => reply.
   */
  async call(name, input, serve) {
    this.#serve = serve;
    this.#failure = undefined;
    let output;
    try {
      output = (await this.#instance.call(name, input)).text();
      await this.#instance.reset(); // the SDK keeps the memory of every call until then
    } catch (e) {
      await this.#instance.close(); // nobody knows what state a trap has left it in
      await this.#start();
      throw this.#failure ? this.#failure.error : e;
    }
    if (this.#failure) throw this.#failure.error;
    return output;
  }

  /**
   * The same with JSON values, and the host functions as {family: {op: (request) => reply}}.
   * A host function refuses with a ParleyError; an output that is an error becomes one.
   */
  async ask(name, input, functions) {
    const output = await this.call(name, input && JSON.stringify(input), (family, request) => JSON.stringify(reply(functions[family], JSON.parse(request))));
    const { error, ...answer } = JSON.parse(output);
    if (error) throw new ParleyError(error);
    return answer;
  }

  close() {
    return this.#instance.close();
  }
}

function reply(functions, { op, ...request }) {
  try {
    if (!functions[op]) throw new ParleyError({ code: "unsupported", message: `this host has no ${op}` });
    return { ok: functions[op](request) };
  } catch (e) {
    if (e instanceof ParleyError) return { error: { code: e.code, message: e.message } };
    throw e;
  }
}
