package gateway

import (
	"testing"

	"github.com/parley-wasm/parley/host/config"
)

func TestOptions(t *testing.T) {
	front := func(*Gateway) Front { return nil }
	for _, o := range []*Options{
		nil, {}, {Config: config.Default(), BuiltIn: []byte{0}, Local: front}, {Database: "x", BuiltIn: []byte{0}, Local: front},
		{Database: "x", Config: config.Default(), Local: front}, {Database: "x", Config: config.Default(), BuiltIn: []byte{0}},
	} {
		if g, err := Own(t.Context(), o); g != nil || err == nil {
			t.Errorf("Own accepts %+v", o)
		}
		if d, err := Join(t.Context(), o); d != nil || err == nil {
			t.Errorf("Join accepts %+v", o)
		}
	}
	given := &Options{Database: "x", Config: config.Default(), BuiltIn: []byte{0}, Local: front}
	o, err := given.validate()
	if err != nil || o.Timeout == 0 || o.Note == nil || o.Logger == nil || o.Agree(nil) != nil || given.Logger != nil {
		t.Errorf("defaults: %+v, %v", o, err)
	}
}
