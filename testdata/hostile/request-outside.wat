  ;; Gives a host function a request that lies outside of the memory, or, the other
  ;; way, in no block.
  (func $attack (drop (call $store (i64.const 0x00000010_fffffff8))))
