  ;; Its start function runs an endless loop.
  (start $begin)
  (func $begin (loop $again (br $again)))
  (func $attack)
