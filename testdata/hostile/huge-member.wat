  ;; Returns an unknown member whose name has 160 KB.
  (data (i32.const 2048) "{\"")
  (data (i32.const 2176) "\":1}")
  (func $attack
    (memory.fill (i32.const 0x30000) (i32.const 0x78) (i32.const 160000))
    (memory.copy (i32.const 0x30000) (i32.const 2048) (i32.const 2))
    (memory.copy (i32.const 0x57100) (i32.const 2176) (i32.const 5))
    (call $say (i32.const 0x30000)))
