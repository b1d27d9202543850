  ;; Asks the host to write its input outside of the memory.
  (start $begin)
  (func $begin (global.set $at (i32.const -16)))
  (func $attack (call $say (i32.const 1536)))
