  ;; Sets an output of 64 KiB again and again.
  (func $attack (local $output i64)
    (memory.fill (i32.const 0x30000) (i32.const 0x20) (i32.const 0x10000))
    (local.set $output (if (result i64) (global.get $direct)
      (then (i64.const 0x30000))
      (else (call $block (i32.const 0x30000)))))
    (loop $again (call $output_set (local.get $output) (i64.const 0x10000)) (br $again)))
