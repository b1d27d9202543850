  ;; Gives an output that begins in the last byte of the memory and reaches past it.
  (func $attack (call $output_set (i64.const 0x5ffff) (i64.const 2)))
