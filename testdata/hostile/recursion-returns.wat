  ;; Recurses 150,000 levels deep and returns. The instance must not keep the stack that
  ;; the host allocated for it.
  (func $attack
    (call $deep (i32.const 150000) (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4))
    (call $say (i32.const 1536)))
  (func $deep (param $n i32) (param $a i64) (param $b i64) (param $c i64) (param $d i64)
    (if (local.get $n) (then
      (call $deep (i32.sub (local.get $n) (i32.const 1)) (local.get $d) (local.get $a) (local.get $b) (local.get $c))
      (i64.store (i32.const 0x30000) (i64.add (i64.add (local.get $a) (local.get $b)) (i64.add (local.get $c) (local.get $d)))))))
