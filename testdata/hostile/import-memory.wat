;; Imports the memory of another module.
(module
  (import "extism:host/env" "memory" (memory 1))
  (func (export "describe") (result i32) (i32.const 0))
  (func (export "call") (result i32) (i32.const 0))
  (func (export "resume") (result i32) (i32.const 0)))
