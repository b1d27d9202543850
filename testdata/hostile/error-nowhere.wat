  ;; Sets an error text at an offset that is not in a block.
  (func $attack (call $error_set (i64.const 0x7fffffffffffffff)))
