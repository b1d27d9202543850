  ;; Writes a secret in one call and searches for it in the next. The input starts with
  ;; the eight bytes of the secret, with all bits inverted, so that the input does not
  ;; contain the secret. Each call writes the secret wherever it can; letters in the
  ;; input select variants:
  ;;
  ;;   G  first grows the memory by 18 pages
  ;;   T  traps afterwards, L loops without end, E sets an error text, F fails
  ;;   H  searches instead of writing, and answers with eight counts, in the order in
  ;;      which $hunt stores them
  ;;   B  writes and then searches, to show that the search finds the secret
  (global $i32 (mut i32) (i32.const 0))
  (global $i64 (mut i64) (i64.const 0))
  (global $f32 (mut f32) (f32.const 0))
  (global $f64 (mut f64) (f64.const 0))
  (global $v128 (mut v128) (v128.const i64x2 0 0))
  (global $func (mut funcref) (ref.null func))
  (elem declare func $attack)
  (data (i32.const 2048) "a variable")
  (data (i32.const 2080) "{\"op\":\"get\",\"sessionKey\":\"agent:main:a\"}")

  (func $attack (local $secret i64)
    (local.set $secret (i64.xor (i64.load align=1 (global.get $at)) (i64.const -1)))
    (if (call $has (i32.const 0x47)) (then (drop (memory.grow (i32.const 18)))))
    (if (call $has (i32.const 0x42)) (then (call $write (local.get $secret)) (call $hunt (local.get $secret)) (return)))
    (if (call $has (i32.const 0x48)) (then (call $hunt (local.get $secret)) (return)))
    (if (call $has (i32.const 0x45)) (then (call $error_set (call $filled (local.get $secret) (i64.const 64)))))
    (if (call $has (i32.const 0x46)) (then (global.set $status (i32.const 1))))
    (if (call $has (i32.const 0x54)) (then (call $write (local.get $secret)) (unreachable)))
    (if (call $has (i32.const 0x4c)) (then (call $write (local.get $secret)) (loop $again (br $again))))
    (call $write (local.get $secret))
    (call $say (i32.const 1536)))

  (func $write (param $secret i64) (local $p i32) (local $end i32) (local $n i32)
    (global.set $i32 (i32.wrap_i64 (local.get $secret)))
    (global.set $i64 (local.get $secret))
    (global.set $f32 (f32.reinterpret_i32 (i32.wrap_i64 (local.get $secret))))
    (global.set $f64 (f64.reinterpret_i64 (local.get $secret)))
    (global.set $v128 (i64x2.splat (local.get $secret)))
    (global.set $func (ref.func $attack))
    (loop $next
      (call $free (call $filled (local.get $secret) (i64.const 256)))
      (drop (call $filled (local.get $secret) (i64.const 64)))
      (br_if $next (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 20))))
    (call $var_set (call $block (i32.const 2048)) (call $filled (local.get $secret) (i64.const 64)))
    (drop (call $store (call $request (i32.const 2080)))) ;; the reply contains the secret and is not fetched
    (i64.store (i32.const 0) (local.get $secret)) ;; without overwriting the texts
    (i64.store (i32.const 0x700) (local.get $secret))
    (local.set $p (i32.const 0xc00))
    (local.set $end (i32.mul (memory.size) (i32.const 0x10000)))
    (loop $next
      (i64.store (local.get $p) (local.get $secret))
      (br_if $next (i32.lt_u (local.tee $p (i32.add (local.get $p) (i32.const 8))) (local.get $end)))))

  ;; $filled returns a new block filled with the secret.
  (func $filled (param $secret i64) (param $size i64) (result i64) (local $block i64) (local $n i64)
    (local.set $block (call $alloc (local.get $size)))
    (loop $next
      (call $store_u64 (i64.add (local.get $block) (local.get $n)) (local.get $secret))
      (br_if $next (i64.lt_u (local.tee $n (i64.add (local.get $n) (i64.const 8))) (local.get $size))))
    (local.get $block))

  (func $hunt (param $secret i64)
    (i64.store (i32.const 2304) (call $in_memory (local.get $secret)))
    (i64.store (i32.const 2312) (call $in_globals))
    (i64.store (i32.const 2320) (call $in_offsets)) ;; before this call allocates blocks
    (i64.store (i32.const 2328) (call $in_blocks (local.get $secret)))
    (i64.store (i32.const 2336) (call $var_get (call $block (i32.const 2048))))
    (i64.store (i32.const 2344) (call $error_get))
    (i64.store (i32.const 2352)
      (if (result i64) (global.get $direct) (then (call $store (i64.const 0x80000000_00030000))) (else (i64.const 0))))
    (i64.store (i32.const 2360) (i64.extend_i32_u (memory.size)))
    (call $report (i32.const 2304)))

  ;; $in_memory counts the secrets at any address of the memory.
  (func $in_memory (param $secret i64) (result i64) (local $p i32) (local $end i32) (local $found i64)
    (local.set $end (i32.sub (i32.mul (memory.size) (i32.const 0x10000)) (i32.const 8)))
    (loop $next
      (local.set $found (i64.add (local.get $found)
        (i64.extend_i32_u (i64.eq (i64.load align=1 (local.get $p)) (local.get $secret)))))
      (br_if $next (i32.le_u (local.tee $p (i32.add (local.get $p) (i32.const 1))) (local.get $end))))
    (local.get $found))

  ;; $in_globals counts the globals that differ from their initial values.
  (func $in_globals (result i64)
    (i64.extend_i32_u (i32.add
      (i32.add
        (i32.add (i32.ne (global.get $i32) (i32.const 0)) (i64.ne (global.get $i64) (i64.const 0)))
        (i32.add (i32.ne (i32.reinterpret_f32 (global.get $f32)) (i32.const 0))
          (i64.ne (i64.reinterpret_f64 (global.get $f64)) (i64.const 0))))
      (i32.add (v128.any_true (global.get $v128)) (i32.eqz (ref.is_null (global.get $func)))))))

  ;; $in_offsets counts the blocks of the environment that this call has not allocated,
  ;; without the input, which is a block unless it was written directly.
  (func $in_offsets (result i64) (local $p i64) (local $found i64)
    (loop $next
      (if (i64.ne (call $length (local.get $p)) (i64.const 0))
        (then (local.set $found (i64.add (local.get $found) (i64.const 1)))))
      (br_if $next (i64.lt_u (local.tee $p (i64.add (local.get $p) (i64.const 1))) (i64.const 20000))))
    (i64.sub (local.get $found) (i64.extend_i32_u (i32.eqz (global.get $direct)))))

  ;; $in_blocks counts the words that are not zero in a new block of the environment.
  (func $in_blocks (param $secret i64) (result i64) (local $block i64) (local $n i64) (local $found i64)
    (local.set $block (call $alloc (i64.const 20000)))
    (loop $next
      (local.set $found (i64.add (local.get $found) (i64.extend_i32_u
        (i64.ne (call $load_u64 (i64.add (local.get $block) (local.get $n))) (i64.const 0)))))
      (br_if $next (i64.lt_u (local.tee $n (i64.add (local.get $n) (i64.const 8))) (i64.const 20000))))
    (local.get $found))

  ;; $report sets the output to eight numbers.
  (func $report (param $p i32) (local $block i64) (local $n i64)
    (if (global.get $direct) (then (call $output_set (i64.extend_i32_u (local.get $p)) (i64.const 64)) (return)))
    (local.set $block (call $alloc (i64.const 64)))
    (loop $next
      (call $store_u64 (i64.add (local.get $block) (local.get $n)) (i64.load (i32.add (local.get $p) (i32.wrap_i64 (local.get $n)))))
      (br_if $next (i64.lt_u (local.tee $n (i64.add (local.get $n) (i64.const 8))) (i64.const 64))))
    (call $output_set (local.get $block) (i64.const 64)))
