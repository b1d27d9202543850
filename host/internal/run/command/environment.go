package command

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/host/runner"
)

// Environment variables that describe the turn to the program. URL and token come
// from Tools.Access; they are absent in a turn without tools and on a host without a
// gateway. EnvSandboxed is set only in sandboxed sessions.
const (
	EnvURL        = "PARLEY_URL"
	EnvToken      = "PARLEY_TOKEN"
	EnvRunID      = "PARLEY_RUN_ID"
	EnvAttempt    = "PARLEY_ATTEMPT" // the first is 1
	EnvSessionKey = "PARLEY_SESSION_KEY"
	EnvSandboxed  = "PARLEY_SANDBOXED" // 1
)

// inherited are the host's variables that a program inherits, besides LC_*. Other
// variables of the host may hold secrets and are not inherited.
var inherited = []string{"PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", "SHELL"}

// minSecret is the minimum length of a configured value that is treated as a secret.
const minSecret = 8

// environment returns the program's environment and the secrets in it. The turn's
// variables override the configured ones, and those override the inherited ones.
func (o *Options) environment(t *runner.Turn) (list, secrets []string) {
	env := make(map[string]string)
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
			env[name] = value
		}
	}
	maps.Copy(env, o.Env)
	env[EnvRunID] = t.RunID
	env[EnvAttempt] = strconv.Itoa(t.Attempt)
	env[EnvSessionKey] = t.SessionKey
	if t.Sandboxed {
		env[EnvSandboxed] = "1"
	}
	if t.Tools != nil {
		if url, token := t.Tools.Access(); url != "" && token != "" {
			env[EnvURL], env[EnvToken] = url, token
			secrets = append(secrets, token)
		}
	}
	for _, value := range o.Env {
		if len(value) >= minSecret {
			secrets = append(secrets, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list, secrets
}

// checkEnv returns an error for invalid variables and for variables that the host
// sets.
func checkEnv(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(env[name], 0):
			return fmt.Errorf("env: %q cannot be a variable", name)
		case slices.Contains([]string{EnvURL, EnvToken, EnvRunID, EnvAttempt, EnvSessionKey, EnvSandboxed}, name):
			return fmt.Errorf("env: %s is set by the host, for each run", name)
		}
	}
	return nil
}
