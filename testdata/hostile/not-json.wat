  ;; Returns two documents.
  (data (i32.const 2048) "{\"result\":{}}{\"result\":{}}")
  (func $attack (call $say (i32.const 2048)))
