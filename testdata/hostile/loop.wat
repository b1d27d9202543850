  ;; Runs an endless loop.
  (func $attack (loop $again (br $again)))
