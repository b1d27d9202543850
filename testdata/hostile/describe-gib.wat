;; Returns a description of 1 GiB.
(module
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory 1)
  (func (export "describe") (result i32)
    (call $output_set (i64.const 0) (i64.const 0x40000000))
    (i32.const 0))
  (func (export "call") (result i32) (i32.const 0))
  (func (export "resume") (result i32) (i32.const 0)))
