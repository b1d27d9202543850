  ;; Reads past the end of its input, with an offset that wraps.
  (func $attack (drop (call $input_load_u8 (i64.const -1))))
