;; Runs an endless loop in describe.
(module
  (memory 1)
  (func (export "describe") (result i32) (loop $again (br $again)) (i32.const 0))
  (func (export "call") (result i32) (i32.const 0))
  (func (export "resume") (result i32) (i32.const 0)))
