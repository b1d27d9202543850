  ;; Returns what another ABI may have called a step result.
  (data (i32.const 2048) "{\"abi\":2,\"answer\":{\"status\":\"ok\"}}")
  (func $attack (call $say (i32.const 2048)))
