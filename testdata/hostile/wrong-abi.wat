  ;; Implements another version of the ABI.
  (data (i32.const 16) "{\"abi\":2")
  (func $attack)
