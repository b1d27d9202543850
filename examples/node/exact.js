// Compares JSON values with the exact numbers of lossless-json: as doubles,
// 9007199254740993 and 9007199254740992 would be equal.
import { isLosslessNumber } from "lossless-json";

/** Returns a line for each difference, with its JSON Pointer and both values. */
export function difference(got, want, at = "") {
  if (isLosslessNumber(got) && isLosslessNumber(want)) return canonical(got.value) === canonical(want.value) ? [] : [line(got, want, at)];
  if (kind(got) !== kind(want)) return [line(got, want, at)];
  if (kind(got) === "object" || kind(got) === "array") {
    const names = new Set([...Object.keys(got), ...Object.keys(want)]);
    return [...names].flatMap((name) => difference(got[name], want[name], `${at}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`));
  }
  return got === want ? [] : [line(got, want, at)];
}

const kind = (v) => (v === null ? "null" : isLosslessNumber(v) ? "number" : Array.isArray(v) ? "array" : typeof v);
const line = (got, want, at) => `${at}: ${show(got)}, want ${show(want)}`;
const show = (v) => (isLosslessNumber(v) ? v.value : v === undefined ? "nothing" : JSON.stringify(v));

/** Returns a number's digits without leading and trailing zeros, and the exponent of the last digit: 1, 1.0 and 1e0 are "1e0". */
function canonical(number) {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number);
  const digits = (whole + fraction).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  if (!short) return "0e0";
  return `${sign}${short}e${BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - short.length)}`;
}
