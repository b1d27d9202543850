  ;; Returns a result and an error.
  (data (i32.const 2048) "{\"result\":{\"status\":\"ok\"},\"error\":{\"code\":\"conflict\",\"message\":\"no\"}}")
  (func $attack (call $say (i32.const 2048)))
