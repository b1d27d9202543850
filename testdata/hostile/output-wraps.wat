  ;; Gives an output whose end wraps around the last number.
  (func $attack (call $output_set (i64.const -8) (i64.const 16)))
