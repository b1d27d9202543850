  ;; Returns no output at all.
  (func $attack)
