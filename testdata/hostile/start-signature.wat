;; Its _initialize has a parameter.
(module
  (memory 1)
  (func (export "_initialize") (param i32))
  (func (export "describe") (result i32) (i32.const 0))
  (func (export "call") (result i32) (i32.const 0))
  (func (export "resume") (result i32) (i32.const 0)))
