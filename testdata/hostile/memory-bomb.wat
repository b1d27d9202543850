  ;; Takes all memory there is, and then cannot go on.
  (func $attack
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (unreachable))
