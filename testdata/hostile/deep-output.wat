  ;; Returns arrays nested a hundred thousand levels deep.
  (func $attack
    (memory.fill (i32.const 0x30000) (i32.const 0x5b) (i32.const 100000))
    (memory.copy (i32.const 0x30000) (i32.const 2048) (i32.const 15))
    (call $say (i32.const 0x30000)))
  (data (i32.const 2048) "{\"result\":{\"x\":")
