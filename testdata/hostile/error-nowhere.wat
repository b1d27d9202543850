  ;; Gives an error text that lies in no block.
  (func $attack (call $error_set (i64.const 0x7fffffffffffffff)))
