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

// Variables that a program gets about its turn. URL and token are those of
// Tools.Access; a turn without tools, or a host without a gateway, has neither.
// Only the turns of sandboxed sessions have EnvSandboxed.
const (
	EnvURL        = "PARLEY_URL"
	EnvToken      = "PARLEY_TOKEN"
	EnvRunID      = "PARLEY_RUN_ID"
	EnvAttempt    = "PARLEY_ATTEMPT" // the first is 1
	EnvSessionKey = "PARLEY_SESSION_KEY"
	EnvSandboxed  = "PARLEY_SANDBOXED" // 1
)

// inherited are the host's variables that a program gets too, besides LC_….
// Whatever else the host knows, its secrets above all, is not for programs.
var inherited = []string{"PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", "SHELL"}

// minSecret is the length from which on a configured value is taken for a secret.
const minSecret = 8

// environment returns the host's few variables, the configured ones, and the
// turn's, each over the ones before, and what of that is not to be shown.
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

// checkEnv refuses what no environment can hold, and what is the host's to say.
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
