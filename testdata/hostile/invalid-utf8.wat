  ;; Returns a string that is not valid UTF-8.
  (data (i32.const 2048) "{\"result\":{\"status\":\"ok\ff\"}}")
  (func $attack (call $say (i32.const 2048)))
