  ;; Has a table that may grow for ever.
  (table 1 funcref)
  (func $attack)
