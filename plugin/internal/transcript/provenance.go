package transcript

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/sessionkey"
)

func originMember(name string, _ gjson.Result) action {
	if name == "sourceSessionKey" {
		return keyText
	}
	return generic
}

// isKey reports whether a text is a canonical session key.
func isKey(text string) bool {
	if text == sessionkey.Global {
		return true
	}
	id, _, ok := sessionkey.Split(text)
	if own, err := sessionkey.AgentID(id); !ok || err != nil || own != id {
		return false
	}
	return sessionkey.Check(text) == nil
}
