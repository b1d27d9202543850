;; Wants nearly 4 GiB of memory to begin with.
(module
  (memory 65000)
  (func (export "describe") (result i32) (i32.const 0))
  (func (export "call") (result i32) (i32.const 0))
  (func (export "resume") (result i32) (i32.const 0)))
