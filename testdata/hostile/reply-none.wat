  ;; Fetches a reply before any request, and fetches one reply twice.
  (data (i32.const 2048) "{\"op\":\"get\",\"sessionKey\":\"agent:main:a\"}")
  (func $attack
    (if (i64.ne (call $deliver (i64.const 0x80000000_00030000)) (i64.const 0)) (then (unreachable)))
    (drop (call $store (call $request (i32.const 2048))))
    (drop (call $store (i64.const 0x80000000_00030000)))
    (memory.fill (i32.const 0x30000) (i32.const 0) (i32.const 0x1000))
    (if (i64.ne (call $store (i64.const 0x80000000_00030000)) (i64.const 0)) (then (unreachable)))
    (if (i32.load8_u (i32.const 0x30000)) (then (unreachable)))
    (call $say (i32.const 1536)))
