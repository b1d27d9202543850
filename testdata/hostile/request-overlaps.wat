  ;; Passes a host function a request that starts inside the memory and ends beyond it.
  (func $attack (drop (call $agent (i64.const 0x00010000_0005fff0))))
