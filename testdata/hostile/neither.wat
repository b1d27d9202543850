  ;; Returns neither a result nor a wait nor an error.
  (data (i32.const 2048) "{}")
  (func $attack (call $say (i32.const 2048)))
