  ;; Passes a host function an offset inside a block that is not its start. With direct
  ;; memory this is an empty request.
  (func $attack (drop (call $store (i64.add (call $alloc (i64.const 64)) (i64.const 8))))
    (call $say (i32.const 1536)))
