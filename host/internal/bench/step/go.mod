// The benchmark of a step in native Go, the engine and the Extism SDK. It is a separate
// module because it imports both the plugin and the host, which no package of the project
// may do, and because the official Extism SDK must not become a dependency of the project.
module github.com/parley-wasm/parley/host/internal/bench/step

go 1.26.0

require (
	github.com/extism/go-sdk v1.7.1
	github.com/parley-wasm/parley v0.0.0
)

require (
	github.com/dylibso/observe-sdk/go v0.0.0-20240819160327-2d926c5d788a // indirect
	github.com/gobwas/glob v0.2.3 // indirect
	github.com/ianlancetaylor/demangle v0.0.0-20240805132620-81f5be970eca // indirect
	github.com/tetratelabs/wabin v0.0.0-20230304001439-f6f874872834 // indirect
	github.com/tetratelabs/wazero v1.12.0 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	go.opentelemetry.io/proto/otlp v1.3.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
	google.golang.org/protobuf v1.34.2 // indirect
)

replace github.com/parley-wasm/parley => ../../../..
