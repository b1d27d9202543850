import { setTimeout as sleep } from "node:timers/promises";

const longest = 2 ** 31 - 1; // a longer timeout would fire at once

/**
 * Resolves at a time, in milliseconds since the epoch, or when the signal is aborted.
 * Without ref the timer does not keep the process alive.
 */
export async function sleepUntil(at, signal, ref = true) {
  try {
    while (Date.now() < at) await sleep(Math.min(at - Date.now(), longest), null, { signal, ref });
  } catch (e) {
    if (e.name !== "AbortError") throw e;
  }
}
