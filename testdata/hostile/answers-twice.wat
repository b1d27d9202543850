  ;; A flow that answers in each of its steps.
  (data (i32.const 2048) "{\"result\":{\"status\":\"ok\"},\"wait\":{\"until\":1,\"state\":\"^\",\"stateVersion\":1}}")
  (func $attack (call $say (i32.const 2048)))
