  ;; The common part of the hostile plugins. A module consists of this text and one of
  ;; the other files, which defines $attack (README.md).
  ;;
  ;; Input with a ~ gets a wait for a past time with the state "^"; input with a ^ starts
  ;; the attack; any other input gets a valid result. The arguments of a call therefore
  ;; select the step of the flow that attacks.

  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "free" (func $free (param i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "load_u64" (func $load_u64 (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input_load_u8 (param i64) (result i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/env" "error_set" (func $error_set (param i64)))
  (import "extism:host/env" "error_get" (func $error_get (result i64)))
  (import "extism:host/env" "var_set" (func $var_set (param i64 i64)))
  (import "extism:host/env" "var_get" (func $var_get (param i64) (result i64)))
  (import "extism:host/env" "log_info" (func $log_info (param i64)))
  (import "extism:host/user" "store" (func $store (param i64) (result i64)))
  (import "extism:host/user" "agent" (func $agent (param i64) (result i64)))
  (import "extism:host/user" "deliver" (func $deliver (param i64) (result i64)))

  ;; Texts end with a zero byte. Texts of the other file start at 2048, its scratch
  ;; memory at 0x30000.
  (memory (export "memory") 6)
  (data (i32.const 16) "{\"abi\":1,\"name\":\"hostile\",\"version\":\"1\",\"stateVersion\":1,\"resumes\":[1,1],\"capabilities\":[\"store.get\",\"store.create\",\"agent.run\",\"deliver.send\"],\"tools\":[{\"name\":\"hostile\",\"description\":\"\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{\"type\":\"object\"},\"readOnly\":false,\"needs\":[]}]}")
  (data (i32.const 1024) "{\"wait\":{\"until\":1,\"state\":\"^\",\"stateVersion\":1}}")
  (data (i32.const 1536) "{\"result\":{\"status\":\"ok\"}}")

  (global $at (mut i32) (i32.const 0x10000)) ;; address of the input
  (global $size (mut i32) (i32.const 0))
  (global $direct (mut i32) (i32.const 0)) ;; 1: this call uses direct memory, 0: kernel calls
  (global $status (mut i32) (i32.const 0)) ;; return value of the call

  (func (export "parley_input") (param $size i32) (result i32)
    (global.set $direct (i32.const 1))
    (global.set $size (local.get $size))
    (global.get $at))

  (func (export "describe") (result i32)
    (call $say (i32.const 16))
    (i32.const 0))

  (func (export "call") (export "resume") (result i32)
    (call $take)
    (if (call $has (i32.const 0x7e)) (then (call $say (i32.const 1024)) (return (i32.const 0))))
    (if (call $has (i32.const 0x5e)) (then (call $attack) (return (global.get $status))))
    (call $say (i32.const 1536))
    (i32.const 0))

  ;; $take copies the input to $at, unless the host has written it there directly.
  (func $take (local $i i32)
    (if (global.get $direct) (then (return)))
    (global.set $size (i32.wrap_i64 (call $input_length)))
    (block $end (loop $next
      (br_if $end (i32.ge_u (local.get $i) (global.get $size)))
      (i32.store8 (i32.add (global.get $at) (local.get $i)) (call $input_load_u8 (i64.extend_i32_u (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next))))

  ;; $has reports whether the input contains a byte; $count returns how often.
  (func $has (param $byte i32) (result i32) (i32.ne (call $count (local.get $byte)) (i32.const 0)))
  (func $count (param $byte i32) (result i32) (local $i i32) (local $n i32)
    (block $end (loop $next
      (br_if $end (i32.ge_u (local.get $i) (global.get $size)))
      (local.set $n (i32.add (local.get $n)
        (i32.eq (i32.load8_u (i32.add (global.get $at) (local.get $i))) (local.get $byte))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next)))
    (local.get $n))

  ;; $say sets the output to a text.
  (func $say (param $text i32)
    (if (global.get $direct)
      (then (call $output_set (i64.extend_i32_u (local.get $text)) (i64.extend_i32_u (call $bytes (local.get $text)))))
      (else (call $output_set (call $block (local.get $text)) (i64.extend_i32_u (call $bytes (local.get $text)))))))

  ;; $request returns the argument of a host function for a text.
  (func $request (param $text i32) (result i64)
    (if (result i64) (global.get $direct)
      (then (i64.or (i64.shl (i64.extend_i32_u (call $bytes (local.get $text))) (i64.const 32)) (i64.extend_i32_u (local.get $text))))
      (else (call $block (local.get $text)))))

  ;; $bytes returns the length of a text.
  (func $bytes (param $text i32) (result i32) (local $end i32)
    (local.set $end (local.get $text))
    (block $found (loop $next
      (br_if $found (i32.eqz (i32.load8_u (local.get $end))))
      (local.set $end (i32.add (local.get $end) (i32.const 1)))
      (br $next)))
    (i32.sub (local.get $end) (local.get $text)))

  ;; $block copies a text to a new block of the environment.
  (func $block (param $text i32) (result i64) (local $block i64) (local $to i64) (local $end i64)
    (local.set $end (i64.extend_i32_u (call $bytes (local.get $text))))
    (local.set $to (local.tee $block (call $alloc (local.get $end))))
    (local.set $end (i64.add (local.get $end) (local.get $block)))
    (block $copied (loop $next
      (br_if $copied (i64.ge_u (local.get $to) (local.get $end)))
      (if (i64.le_u (i64.add (local.get $to) (i64.const 8)) (local.get $end))
        (then
          (call $store_u64 (local.get $to) (i64.load align=1 (local.get $text)))
          (local.set $text (i32.add (local.get $text) (i32.const 8)))
          (local.set $to (i64.add (local.get $to) (i64.const 8))))
        (else
          (call $store_u8 (local.get $to) (i32.load8_u (local.get $text)))
          (local.set $text (i32.add (local.get $text) (i32.const 1)))
          (local.set $to (i64.add (local.get $to) (i64.const 1)))))
      (br $next)))
    (local.get $block))
