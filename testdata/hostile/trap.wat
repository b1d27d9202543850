  ;; Starts a run, and then traps.
  (data (i32.const 2048) "{\"op\":\"run\",\"sessionKey\":\"agent:main:b\",\"message\":\"go\",\"group\":\"nested\"}")
  (func $attack
    (drop (call $agent (call $request (i32.const 2048))))
    (unreachable))
