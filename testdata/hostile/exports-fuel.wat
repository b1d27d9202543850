  ;; Has an export with the name of the host's fuel counter.
  (global (export "parley.fuel") (mut i64) (i64.const 0x7fffffffffffffff))
  (func $attack)
