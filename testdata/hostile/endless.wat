  ;; A flow that waits for a time long past, for ever.
  (func $attack (call $say (i32.const 1024)))
