  ;; Gives an output that is longer than its block in the environment. The direct
  ;; way knows no blocks: there the memory ends first.
  (func $attack (call $output_set (call $alloc (i64.const 8)) (i64.const 0x70000)))
