package command_test

import (
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/internal/run/command"
	"github.com/parley-wasm/parley/host/runner/runnertest"
)

// Errors conceal secrets that the program prints, because the caller of the run reads
// them.
func TestSecretsAreNotShown(t *testing.T) {
	a := open(t, command.Options{
		Argv: shell(`echo "401: $KEY with $PARLEY_TOKEN ($REGION)" >&2; exit 1`),
		Env:  map[string]string{"KEY": "sk-123456", "REGION": "eu-west"},
	})
	s := runnertest.NewSession()
	s.Serve(t)
	_, err := a.Run(t.Context(), s.Turn("hello"))
	if err == nil || !strings.HasSuffix(err.Error(), "401: [secret] with [secret] (eu-west)") {
		t.Errorf("%v", err)
	}
}

// No part of a secret is shown, wherever the text is truncated.
func TestTailConceals(t *testing.T) {
	const key, long = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for n := range 5000 {
		printed := []string{key, long + long, strings.Repeat("x", n), long}
		text := command.Tail([]string{key, long}, printed...)
		if strings.ContainsAny(text, key+long) || !strings.HasSuffix(text, "x[secret]") && n > 0 || len(text) > 4<<10 {
			t.Fatalf("after %d bytes: %q", n, text)
		}
	}
	if text := command.Tail([]string{key}, strings.Repeat(key, 1000)); strings.ContainsAny(text, key) || !strings.HasSuffix(text, "[secret]") {
		t.Errorf("%q", text)
	}
}
