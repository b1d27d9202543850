  ;; Fails with an error text of 160 KB, which would reach the caller, the log and the
  ;; store.
  (data (i32.const 2048) "{\"error\":{\"code\":\"invalid_args\",\"message\":\"")
  (data (i32.const 2176) "\"}}")
  (func $attack
    (memory.fill (i32.const 0x30000) (i32.const 0x78) (i32.const 160000))
    (memory.copy (i32.const 0x30000) (i32.const 2048) (i32.const 43))
    (memory.copy (i32.const 0x57100) (i32.const 2176) (i32.const 4))
    (call $say (i32.const 0x30000)))
