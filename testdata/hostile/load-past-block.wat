  ;; Reads past the end of a block in the environment.
  (func $attack (drop (call $load_u64 (i64.add (call $alloc (i64.const 8)) (i64.const 1)))))
