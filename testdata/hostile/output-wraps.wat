  ;; Sets an output whose end overflows 64 bits.
  (func $attack (call $output_set (i64.const -8) (i64.const 16)))
