  ;; A flow that waits for a past time in every step, without end.
  (func $attack (call $say (i32.const 1024)))
