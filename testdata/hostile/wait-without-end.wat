  ;; Waits without a run and without a time.
  (data (i32.const 2048) "{\"wait\":{\"state\":{},\"stateVersion\":1}}")
  (func $attack (call $say (i32.const 2048)))
