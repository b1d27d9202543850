  ;; Fetches the reply of one host function from another, and makes two requests before
  ;; it fetches a reply.
  (data (i32.const 2048) "{\"op\":\"get\",\"sessionKey\":\"agent:main:a\"}")
  (func $attack (local $n i64)
    (drop (call $store (call $request (i32.const 2048))))
    (local.set $n (call $store (call $request (i32.const 2048))))
    (if (i64.ne (call $agent (i64.const 0x80000000_00030000)) (local.get $n)) (then (unreachable)))
    (call $say (i32.const 1536)))
