package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/sessionkey"
)

const configFile = "openclaw.json"

// Settings reads the settings that session keys depend on from the state directory's
// openclaw.json: session.mainKey, session.scope and the default agent (S1.2–S1.4).
// Without that file it returns the defaults. An error describes the unusable values;
// the returned settings contain the others.
func Settings(dir string) (sessionkey.Settings, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return sessionkey.Settings{}, fmt.Errorf("importer: open the state directory: %w", err)
	}
	defer root.Close()
	s, _, err := readSettings(root)
	return s, err
}

// readSettings is Settings for an open directory. It also returns the line of a syntax
// error, or 0.
func readSettings(root *os.Root) (sessionkey.Settings, int, error) {
	text, err := readFile(root, configFile)
	if errors.Is(err, fs.ErrNotExist) {
		return sessionkey.Settings{}, 0, nil
	}
	if err != nil {
		return sessionkey.Settings{}, 0, err
	}
	doc, bad := parseLenient(text)
	if bad != nil {
		return sessionkey.Settings{}, bad.Line, bad
	}
	s, err := settingsOf(gjson.ParseBytes(doc.json))
	return s, 0, err
}

func settingsOf(config gjson.Result) (sessionkey.Settings, error) {
	var s sessionkey.Settings
	var errs []error
	if v := config.Get("session.mainKey"); v.Exists() {
		key := strings.TrimSpace(v.String())
		if v.Type != gjson.String || sessionkey.Check(key) != nil || strings.Contains(key, ":") || reserved(key) {
			errs = append(errs, errors.New("session.mainKey is not a usable name; main is used"))
		} else {
			s.MainKey = key
		}
	}
	switch v := config.Get("session.scope"); {
	case !v.Exists(), v.Str == "per-sender":
	case v.Str == "global":
		s.GlobalScope = true
	default:
		errs = append(errs, errors.New("session.scope is neither per-sender nor global; per-sender is used"))
	}
	agent, err := defaultAgent(config.Get("agents.list"))
	s.DefaultAgent = agent
	return s, errors.Join(append(errs, err)...)
}

// defaultAgent returns the first agent with default: true, else the first agent (S1.4).
func defaultAgent(list gjson.Result) (string, error) {
	if !list.IsArray() {
		return "", nil
	}
	var first, chosen string
	var errs []error
	for i, a := range list.Array() {
		id, err := sessionkey.AgentID(strings.TrimSpace(a.Get("id").String()))
		if err != nil {
			errs = append(errs, fmt.Errorf("agents.list[%d].id %w", i, err))
			continue
		}
		if first == "" {
			first = id
		}
		if chosen == "" && a.Get("default").Type == gjson.True {
			chosen = id
		}
	}
	if chosen == "" {
		chosen = first
	}
	return chosen, errors.Join(errs...)
}

func reserved(key string) bool {
	return key == sessionkey.Current || key == sessionkey.Global || key == sessionkey.Unknown
}
