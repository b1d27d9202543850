  ;; Has a data segment that starts inside its memory and ends beyond it.
  (data (i32.const 0x5fff8) "more than eight bytes")
  (func $attack)
