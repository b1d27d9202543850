  ;; Sets an output that is longer than its block in the environment. Direct memory has
  ;; no blocks: there the output exceeds the memory.
  (func $attack (call $output_set (call $alloc (i64.const 8)) (i64.const 0x70000)))
