;; Imports a host function with another signature.
(module
  (import "extism:host/user" "store" (func (param i32 i32) (result i32)))
  (memory 1)
  (func (export "describe") (result i32) (i32.const 0))
  (func (export "call") (result i32) (i32.const 0))
  (func (export "resume") (result i32) (i32.const 0)))
