package gateway

import (
	"path/filepath"
	"testing"

	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// unowned is a store without an owner: any number of processes may open it.
type unowned struct{ *sqlite.Backend }

func (unowned) Ownership() store.Ownership { return nil }

func TestOptions(t *testing.T) {
	b, err := sqlite.NewBackend(filepath.Join(t.TempDir(), "test.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	front := func(*Gateway) FrontEnd { return nil }
	for _, o := range []*Options{
		nil, {}, {Config: config.Default(), BuiltIn: []byte{0}, Local: front}, {Store: b, BuiltIn: []byte{0}, Local: front},
		{Store: b, Config: config.Default(), Local: front}, {Store: b, Config: config.Default(), BuiltIn: []byte{0}},
		{Store: unowned{b}, Config: config.Default(), BuiltIn: []byte{0}, Local: front},
	} {
		if g, err := Own(t.Context(), o); g != nil || err == nil {
			t.Errorf("Own accepts %+v", o)
		}
		if d, err := Join(t.Context(), o); d != nil || err == nil {
			t.Errorf("Join accepts %+v", o)
		}
	}
	given := &Options{Store: b, Config: config.Default(), BuiltIn: []byte{0}, Local: front}
	o, err := given.validate()
	if err != nil || o.Timeout == 0 || o.Note == nil || o.Logger == nil || o.Agree(nil) != nil || given.Logger != nil {
		t.Errorf("defaults: %+v, %v", o, err)
	}
}
