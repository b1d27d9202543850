  ;; Sets an output of -1 bytes.
  (func $attack (call $output_set (i64.const 0) (i64.const -1)))
