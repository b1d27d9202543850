  ;; Has an export of the name under which the host counts fuel.
  (global (export "parley.fuel") (mut i64) (i64.const 0x7fffffffffffffff))
  (func $attack)
