;; Its call has a parameter and returns 64 bits.
(module
  (memory 1)
  (func (export "describe") (result i32) (i32.const 0))
  (func (export "call") (param i32) (result i64) (i64.const 0))
  (func (export "resume") (result i32) (i32.const 0)))
