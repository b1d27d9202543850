  ;; Requests an unknown host operation.
  (data (i32.const 16) "{\"abi\":1,\"name\":\"hostile\",\"version\":\"1\",\"stateVersion\":1,\"resumes\":[1,1],\"capabilities\":[\"host.shell\"],\"tools\":[{\"name\":\"hostile\",\"description\":\"\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{\"type\":\"object\"},\"readOnly\":false,\"needs\":[]}]}\00")
  (func $attack)
