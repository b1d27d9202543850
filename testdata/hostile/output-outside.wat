  ;; Sets an output that starts in the last byte of the memory and ends beyond it.
  (func $attack (call $output_set (i64.const 0x5ffff) (i64.const 2)))
