  ;; Declares a table without a maximum.
  (table 1 funcref)
  (func $attack)
