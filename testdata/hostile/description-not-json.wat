  ;; Its description is truncated JSON.
  (data (i32.const 40) "\00")
  (func $attack)
