  ;; Sets a variable whose name is not in a block.
  (func $attack (call $var_set (i64.const 12345) (i64.const 54321)))
