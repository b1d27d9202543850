  ;; Waits for nothing that could come.
  (data (i32.const 2048) "{\"wait\":{\"state\":{},\"stateVersion\":1}}")
  (func $attack (call $say (i32.const 2048)))
