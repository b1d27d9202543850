  ;; Its start function calls a host function.
  (start $begin)
  (data (i32.const 2048) "{\"op\":\"get\",\"sessionKey\":\"agent:main:a\"}")
  (func $begin (drop (call $store (call $request (i32.const 2048)))))
  (func $attack)
