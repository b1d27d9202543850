  ;; Traps in its start function.
  (start $begin)
  (func $begin (unreachable))
  (func $attack)
