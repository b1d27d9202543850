  ;; Starts a run and sets a valid output, but returns a failure code.
  (data (i32.const 2048) "{\"op\":\"run\",\"sessionKey\":\"agent:main:b\",\"message\":\"go\",\"group\":\"nested\"}")
  (func $attack
    (drop (call $agent (call $request (i32.const 2048))))
    (call $say (i32.const 1536))
    (global.set $status (i32.const -7)))
