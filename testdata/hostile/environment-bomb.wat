  ;; Allocates large blocks in the Extism environment.
  (func $attack (loop $more (drop (call $alloc (i64.const 0x40000))) (br $more)))
