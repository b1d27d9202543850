package runner_test

import (
	"testing"

	"github.com/parley-wasm/parley/host/runner"
)

func TestConceal(t *testing.T) {
	for _, c := range []struct {
		text    string
		secrets []string
		want    string
	}{
		{"nothing", nil, "nothing"},
		{"nothing", []string{""}, "nothing"},
		{"a key, and the key", []string{"key"}, "a [secret], and the [secret]"},
		{"key and key-of-the-door", []string{"key", "key-of-the-door"}, "[secret] and [secret]"},
		{"\xffkey\xfe", []string{"\xffkey"}, "[secret]\xfe"},
	} {
		if got := runner.Conceal(c.text, c.secrets...); got != c.want {
			t.Errorf("Conceal(%q, %q) = %q, want %q", c.text, c.secrets, got, c.want)
		}
	}
}
