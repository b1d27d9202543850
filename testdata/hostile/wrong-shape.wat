  ;; Returns an object with the members of some other ABI's step result.
  (data (i32.const 2048) "{\"abi\":2,\"answer\":{\"status\":\"ok\"}}")
  (func $attack (call $say (i32.const 2048)))
