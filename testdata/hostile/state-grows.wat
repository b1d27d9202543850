  ;; A flow whose state grows by 8 KiB with each step.
  (data (i32.const 2048) "{\"wait\":{\"until\":1,\"stateVersion\":1,\"state\":\"^")
  (data (i32.const 2176) "\"}}")
  (func $attack (local $n i32)
    (local.set $n (i32.add (call $count (i32.const 0x40)) (i32.const 8192)))
    (memory.copy (i32.const 0x30000) (i32.const 2048) (i32.const 46))
    (memory.fill (i32.const 0x3002e) (i32.const 0x40) (local.get $n))
    (memory.copy (i32.add (i32.const 0x3002e) (local.get $n)) (i32.const 2176) (i32.const 4))
    (call $say (i32.const 0x30000)))
