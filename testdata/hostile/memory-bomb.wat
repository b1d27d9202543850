  ;; Grows its memory to the limit, and then traps.
  (func $attack
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (unreachable))
