  ;; Calls itself without end.
  (func $attack
    (call $attack)
    (global.set $status (i32.const 1)))
