  ;; Fails with an unknown error code.
  (data (i32.const 2048) "{\"error\":{\"code\":\"root\",\"message\":\"let me in\"}}")
  (func $attack (call $say (i32.const 2048)))
