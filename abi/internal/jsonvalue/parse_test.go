package jsonvalue_test

import (
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

func TestParseIsStrict(t *testing.T) {
	deep := strings.Repeat("[", 1_000_000)
	for _, doc := range []string{"", "{", "{} {}", `{"a":1,"a":1}`, `{"a":{"b":1,"\u0062":2}}`, "[1,]", "nul", "{}x", deep, strings.ReplaceAll(deep, "[", `{"a":`)} {
		if v, err := jsonvalue.Parse([]byte(doc)); err == nil {
			t.Errorf("%.50s was accepted as %v", doc, v)
		}
	}
	if _, err := jsonvalue.Parse([]byte(deep)); err == nil || !strings.Contains(err.Error(), "levels") {
		t.Errorf("a million levels: %v, want an error about levels", err)
	}
}
