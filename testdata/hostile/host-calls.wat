  ;; Calls a host function without end.
  (data (i32.const 2048) "{\"op\":\"get\",\"sessionKey\":\"agent:main:a\"}")
  (func $attack (loop $again (drop (call $store (call $request (i32.const 2048)))) (br $again)))
