  ;; Sets an output of 1 GiB.
  (func $attack (call $output_set (i64.const 0) (i64.const 0x40000000)))
