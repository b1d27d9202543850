  ;; Sets ever new variables with short names: the host's record of each variable is
  ;; larger than the variable.
  (func $attack (local $name i64) (local $n i64)
    (local.set $name (call $alloc (i64.const 8)))
    (loop $more
      (call $store_u64 (local.get $name) (local.tee $n (i64.add (local.get $n) (i64.const 1))))
      (call $var_set (local.get $name) (local.get $name))
      (br $more)))
