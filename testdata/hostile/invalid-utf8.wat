  ;; Returns a text that is no UTF-8.
  (data (i32.const 2048) "{\"result\":{\"status\":\"ok\ff\"}}")
  (func $attack (call $say (i32.const 2048)))
