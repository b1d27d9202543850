  ;; Its start function computes for ever.
  (start $begin)
  (func $begin (loop $again (br $again)))
  (func $attack)
