  ;; Sets no output.
  (func $attack)
