// A module that traps, as bytes:
// (module (func (export "call") (result i32) unreachable))
export const unreachable = Uint8Array.from([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7f, 3, 2, 1, 0, 7, 8, 1, 4, 0x63, 0x61, 0x6c, 0x6c, 0, 0, 10, 5, 1, 3, 0, 0, 0x0b,
]);
