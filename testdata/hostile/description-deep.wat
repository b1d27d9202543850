  ;; Its description is deeply nested arrays.
  (start $begin)
  (func $begin (memory.fill (i32.const 16) (i32.const 0x5b) (i32.const 1000)))
  (func $attack)
