  ;; Reads a block in the environment after freeing it.
  (func $attack (local $block i64)
    (call $free (local.tee $block (call $alloc (i64.const 8))))
    (drop (call $load_u64 (local.get $block))))
