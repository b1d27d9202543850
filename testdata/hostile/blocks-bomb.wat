  ;; Allocates blocks of one byte: the host's record of each block is larger than the
  ;; block.
  (func $attack (loop $more (drop (call $alloc (i64.const 1))) (br $more)))
