  ;; Its description ends too early.
  (data (i32.const 40) "\00")
  (func $attack)
