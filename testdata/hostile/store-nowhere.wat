  ;; Writes to an offset in the environment that is not in a block.
  (func $attack (call $store_u64 (i64.const -4) (i64.const 0)))
