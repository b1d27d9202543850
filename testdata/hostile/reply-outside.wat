  ;; Fetches a host function's reply to an address outside of the memory.
  (data (i32.const 2048) "{\"op\":\"get\",\"sessionKey\":\"agent:main:a\"}")
  (func $attack
    (drop (call $store (call $request (i32.const 2048))))
    (drop (call $store (i64.const 0x80000000_fffffff0)))
    (call $say (i32.const 1536)))
