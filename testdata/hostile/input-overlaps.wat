  ;; Asks the host to write its input across the end of the memory.
  (start $begin)
  (func $begin (global.set $at (i32.const 0x5fff8)))
  (func $attack (call $say (i32.const 1536)))
