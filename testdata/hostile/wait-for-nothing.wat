  ;; Waits for a run that does not exist.
  (data (i32.const 2048) "{\"wait\":{\"run\":\"r_none\",\"state\":{},\"stateVersion\":1}}")
  (func $attack (call $say (i32.const 2048)))
