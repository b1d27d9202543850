import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "lossless-json";

import { difference } from "../exact.js";

const differs = (a, b) => difference(parse(a), parse(b)).length > 0;

test("equal values in different spellings", () => {
  for (const [a, b] of [["1", "1.0"], ["1", "1e0"], ["100", "1E+2"], ["0", "-0.0"], ["0.10", "1e-1"], ['{"a":1,"b":[]}', '{"b":[],"a":1.0}']]) {
    assert.ok(!differs(a, b), `${a} and ${b}`);
  }
});

test("different values", () => {
  for (const [a, b] of [["9007199254740993", "9007199254740992"], ["1", "-1"], ["1", '"1"'], ["1", "10"], ["0.1", "0.10000000000000001"],
    ["null", "{}"], ["[]", "{}"], ["[1,2]", "[2,1]"], ['{"a":1}', "{}"], ['{"a":null}', "{}"], ["true", "false"]]) {
    assert.ok(differs(a, b), `${a} and ${b}`);
  }
});

test("a difference has its JSON Pointer", () => {
  assert.deepEqual(difference(parse('{"a/b":[1,2]}'), parse('{"a/b":[1,3]}')), ["/a~1b/1: 2, want 3"]);
});
