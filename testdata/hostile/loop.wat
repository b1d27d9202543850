  ;; Computes for ever.
  (func $attack (loop $again (br $again)))
