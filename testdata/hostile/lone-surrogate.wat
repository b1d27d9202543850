  ;; Returns the escape of a lone surrogate.
  (data (i32.const 2048) "{\"result\":{\"status\":\"\\ud800\"}}")
  (func $attack (call $say (i32.const 2048)))
