// Parley's module in Node.js: its exports and host functions, as functions over JSON.
import { readFile } from "node:fs/promises";

const file = new URL("../../plugin/wasm/parley.wasm", import.meta.url);

// The SDK. EXTISM_SDK=extism-2 selects the release candidate of its next version.
const sdk = process.env.EXTISM_SDK ?? "@extism/extism";
const { default: createPlugin } = await import(sdk);

/** The versions of SDK and runtime. */
export async function version() {
  const { version } = JSON.parse(await readFile(new URL(`node_modules/${sdk}/package.json`, import.meta.url)));
  return `@extism/extism ${version}, Node.js ${process.versions.node}`;
}

/** A failed step or a refused request. Programs compare the code; the message is for people. */
export class ParleyError extends Error {
  name = "ParleyError";

  constructor({ code, message }) {
    super(message);
    this.code = code;
  }
}

/**
 * One instance of the module. It takes one call at a time. Its host functions must not
 * call it; they may call another instance.
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
    const namespace = (name) => (memory, request) => {
      if (this.#failure) return 0n;
      try {
        return memory.store(this.#serve(name, memory.read(request).text()));
      } catch (error) {
        // An exception that unwinds the guest would not restore the guest's stack.
        // Offset 0 means no reply, and ends the step.
        this.#failure = { error };
        return 0n;
      }
    };
    this.#instance = await createPlugin(
      { wasm: [{ module: this.#module }] },
      { functions: { "extism:host/user": { store: namespace("store"), agent: namespace("agent"), deliver: namespace("deliver") } } },
    );
  }

  /**
   * Calls an export with a text and returns the text of its output. serve answers the
   * host calls: (namespace, request) => reply.
   */
  async call(name, input, serve) {
    this.#serve = serve;
    this.#failure = undefined;
    let output;
    try {
      output = (await this.#instance.call(name, input)).text();
      await this.#instance.reset(); // frees the memory that the SDK keeps of each call
    } catch (e) {
      await this.#instance.close(); // after a trap its state is undefined
      await this.#start();
      throw this.#failure ? this.#failure.error : e;
    }
    if (this.#failure) throw this.#failure.error;
    return output;
  }

  /**
   * Like call, with JSON values and host functions {namespace: {op: (request) => reply}}.
   * A host function refuses a request with a ParleyError. An error output is thrown as one.
   */
  async ask(name, input, functions) {
    const output = await this.call(name, input && JSON.stringify(input), (namespace, request) => JSON.stringify(reply(functions[namespace], JSON.parse(request))));
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
    if (!functions[op]) throw new ParleyError({ code: "unsupported", message: `this host has no operation ${op}` });
    return { ok: functions[op](request) };
  } catch (e) {
    if (e instanceof ParleyError) return { error: { code: e.code, message: e.message } };
    throw e;
  }
}
