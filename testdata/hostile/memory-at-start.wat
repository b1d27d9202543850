;; Declares an initial memory of nearly 4 GiB.
(module
  (memory 65000)
  (func (export "describe") (result i32) (i32.const 0))
  (func (export "call") (result i32) (i32.const 0))
  (func (export "resume") (result i32) (i32.const 0)))
