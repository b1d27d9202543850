  ;; Creates child sessions without end, and starts no run in them.
  (data (i32.const 2048) "{\"op\":\"create\",\"agentId\":\"main\"}")
  (func $attack (local $n i32)
    (loop $again
      (drop (call $store (call $request (i32.const 2048))))
      (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 40))))
    (call $say (i32.const 1536)))
