  ;; Passes a host function a request outside of the memory or, with kernel calls,
  ;; outside of every block.
  (func $attack (drop (call $store (i64.const 0x00000010_fffffff8))))
