package host

import (
	"strings"
	"sync"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/module"
)

// settings are a configuration in force, and what tools get of it.
type settings struct {
	config *config.Config
	inputs sync.Map // by the names of the members, with commas: []byte
}

// input returns the config object that a tool's input carries: the members that it
// needs.
func (s *settings) input(v *module.Version, tool string) []byte {
	needs := v.Needs(tool)
	key := strings.Join(needs, ",")
	if doc, ok := s.inputs.Load(key); ok {
		return doc.([]byte)
	}
	o := jsonappend.Open(nil)
	for _, name := range needs {
		o.OptRaw(name, s.config.Member(name))
	}
	doc := o.Close()
	s.inputs.Store(key, doc)
	return doc
}
