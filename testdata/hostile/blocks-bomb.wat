  ;; Allocates blocks of one byte: what the host keeps of each is more.
  (func $attack (loop $more (drop (call $alloc (i64.const 1))) (br $more)))
