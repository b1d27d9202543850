  ;; Gives a host function a request that begins in the memory and reaches past it.
  (func $attack (drop (call $agent (i64.const 0x00010000_0005fff0))))
