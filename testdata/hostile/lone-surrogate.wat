  ;; Returns half of a surrogate pair, as an escape.
  (data (i32.const 2048) "{\"result\":{\"status\":\"\\ud800\"}}")
  (func $attack (call $say (i32.const 2048)))
