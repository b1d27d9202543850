  ;; Describes no tools.
  (data (i32.const 16) "{\"abi\":1,\"name\":\"hostile\",\"version\":\"1\",\"stateVersion\":1,\"resumes\":[1,1],\"tools\":[]}\00")
  (func $attack)
