  ;; Calls itself for ever.
  (func $attack
    (call $attack)
    (global.set $status (i32.const 1)))
