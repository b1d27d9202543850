  ;; Has data that begin in its memory and reach past it.
  (data (i32.const 0x5fff8) "more than eight bytes")
  (func $attack)
