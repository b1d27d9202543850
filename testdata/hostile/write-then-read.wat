  ;; Reads after it has written, and fails with the error that it receives.
  (data (i32.const 2048) "{\"op\":\"run\",\"sessionKey\":\"agent:main:b\",\"message\":\"go\",\"group\":\"nested\"}")
  (data (i32.const 2176) "{\"op\":\"get\",\"sessionKey\":\"agent:main:a\"}")
  (func $attack (local $reply i64)
    (drop (call $agent (call $request (i32.const 2048))))
    (local.set $reply (call $store (call $request (i32.const 2176))))
    (if (global.get $direct)
      (then
        (call $output_set (i64.const 0x30000) (call $store (i64.const 0x80000000_00030000))))
      (else
        (call $output_set (local.get $reply) (call $length (local.get $reply))))))
