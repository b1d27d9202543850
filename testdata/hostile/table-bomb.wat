  ;; Grows a table to its limit, and fills it again and again.
  (table $t 1 1048576 funcref)
  (func $attack
    (loop $more (br_if $more (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1))))
    (loop $again
      (table.fill $t (i32.const 0) (ref.null func) (table.size $t))
      (br $again)))
