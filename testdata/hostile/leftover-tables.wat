  ;; Stores functions in its tables, grows them, and drops segments. Traps if it finds
  ;; any such change at its start.
  (table $t 16 64 funcref)
  (table $outside 4 8 externref)
  (elem $segment func $attack $attack)
  (data $text "passive")
  (func $attack (local $n i32)
    (if (i32.ne (table.size $t) (i32.const 16)) (then (unreachable)))
    (if (i32.ne (table.size $outside) (i32.const 4)) (then (unreachable)))
    (loop $next
      (if (i32.eqz (ref.is_null (table.get $t (local.get $n)))) (then (unreachable)))
      (br_if $next (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 16))))
    ;; These instructions trap once the segments have been dropped.
    (table.init $t $segment (i32.const 0) (i32.const 0) (i32.const 2))
    (memory.init $text (i32.const 0x30000) (i32.const 0) (i32.const 7))
    (table.set $t (i32.const 3) (ref.func $attack))
    (table.fill $t (i32.const 4) (ref.func $attack) (i32.const 4))
    (table.copy $t $t (i32.const 8) (i32.const 3) (i32.const 5))
    (drop (table.grow $t (ref.func $attack) (i32.const 7)))
    (drop (table.grow $outside (ref.null extern) (i32.const 1)))
    (elem.drop $segment)
    (data.drop $text)
    (call $say (i32.const 1536)))
