  ;; Fills and copies its whole memory again and again: few instructions, much work.
  (func $attack (local $half i32)
    (local.set $half (i32.mul (memory.size) (i32.const 0x8000)))
    (loop $again
      (memory.fill (i32.const 0) (i32.const 0x5a) (i32.mul (local.get $half) (i32.const 2)))
      (memory.copy (local.get $half) (i32.const 0) (local.get $half))
      (br $again)))
