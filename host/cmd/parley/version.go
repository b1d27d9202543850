package main

import (
	"runtime"
	"runtime/debug"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// versionCmd prints versions.
type versionCmd struct{}

// Run prints them.
func (*versionCmd) Run(a *app) error {
	digest := module.Digest(wasm.Parley)
	if a.JSON {
		return a.printValue(map[string]any{
			"version": version(), "go": runtime.Version(), "abi": abi.Version, "api": local.API,
			"plugin": map[string]any{"sha256": digest, "size": len(wasm.Parley)},
		})
	}
	a.out.Println("parley " + version())
	a.out.Fields(
		[2]string{"go", runtime.Version()},
		[2]string{"abi", terminal.Count(abi.Version)},
		[2]string{"built in", digest + " (" + terminal.Size(int64(len(wasm.Parley))) + ")"},
	)
	return nil
}

// version is the module's version, or the commit that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
