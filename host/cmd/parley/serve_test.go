package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

// TestReadyText checks that the text of a ready gateway names the active plugin version.
func TestReadyText(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: terminal.New(&out, func(string) string { return "" })}
	err := a.printReady(&ready{
		URL: "http://127.0.0.1:1", Database: "parley.db",
		Plugin: local.Plugin{Digest: strings.Repeat("0123456789", 6) + "abcd", Name: "parley\x1b", Version: "0.4.0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"listening on http://127.0.0.1:1\n", " parley.db\n", " 0.4.0 (012345678901)\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("missing %q in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("control characters of the plugin's name reach the terminal")
	}
}
