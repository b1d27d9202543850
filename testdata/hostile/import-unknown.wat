;; Imports a function of an unknown module.
(module
  (import "env" "system" (func (param i32) (result i32)))
  (memory 1)
  (func (export "describe") (result i32) (i32.const 0))
  (func (export "call") (result i32) (i32.const 0))
  (func (export "resume") (result i32) (i32.const 0)))
