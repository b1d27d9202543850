  ;; Sets a variable whose name lies in no block.
  (func $attack (call $var_set (i64.const 12345) (i64.const 54321)))
