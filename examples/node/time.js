import { setTimeout as sleep } from "node:timers/promises";

const longest = 2 ** 31 - 1; // a longer time would be over at once

/**
 * Resolves when a time, in milliseconds, has come, or when nobody needs to know. Without ref
 * it does not keep a program alive that has nothing else to do.
 */
export async function time(at, signal, ref = true) {
  try {
    while (Date.now() < at) await sleep(Math.min(at - Date.now(), longest), null, { signal, ref });
  } catch (e) {
    if (e.name !== "AbortError") throw e;
  }
}
