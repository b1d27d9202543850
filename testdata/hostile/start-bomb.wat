  ;; Its start function grows the memory to the limit.
  (start $begin)
  (func $begin
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (unreachable))
  (func $attack)
