  ;; Writes log lines without end.
  (data (i32.const 2048) "spam spam spam")
  (func $attack (local $line i64)
    (local.set $line (call $block (i32.const 2048)))
    (loop $again (call $log_info (local.get $line)) (br $again)))
