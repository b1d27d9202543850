package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parley-wasm/parley/plugin/wasm"
)

// build writes a copy of the plugin with another version number of the same length.
func build(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "build FILE VERSION")
	const name, version = "parley ", "0.4.0"
	if len(args[1]) != len(version) {
		ts.Fatalf("the version must be as long as %s", version)
	}
	if !bytes.Contains(wasm.Parley, []byte(name+version)) {
		ts.Fatalf("the built-in plugin is not %s%s; adapt this test", name, version)
	}
	module := bytes.ReplaceAll(wasm.Parley, []byte(version), []byte(args[1]))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), module, 0o600))
}

// keypair derives a key pair from NAME and sets the variable NAME to the public key.
func keypair(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "keypair NAME")
	seed := bytes.Repeat([]byte(args[0]+"."), ed25519.SeedSize)[:ed25519.SeedSize]
	key := ed25519.NewKeyFromSeed(seed)
	ts.Setenv(args[0], base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey)))
	ts.Setenv(args[0]+"_private", base64.StdEncoding.EncodeToString(key))
}

// sign writes the signature of FILE, by default to FILE.sig.
func sign(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "sign NAME FILE [SIGNATURE]")
	key, err := base64.StdEncoding.DecodeString(ts.Getenv(args[0] + "_private"))
	ts.Check(err)
	to := args[1] + ".sig"
	if len(args) > 2 {
		to = args[2]
	}
	text := base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(ts.ReadFile(args[1]))))
	ts.Check(os.WriteFile(ts.MkAbs(to), []byte(text+"\n"), 0o600))
}
