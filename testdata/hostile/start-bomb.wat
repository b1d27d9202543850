  ;; Its start function takes all memory there is.
  (start $begin)
  (func $begin
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (unreachable))
  (func $attack)
