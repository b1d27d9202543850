  ;; Gives a host function an offset that lies in a block but does not begin it. The
  ;; direct way reads it as a request without bytes.
  (func $attack (drop (call $store (i64.add (call $alloc (i64.const 64)) (i64.const 8))))
    (call $say (i32.const 1536)))
