package host

import (
	"strings"
	"sync"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/module"
)

// settings are the current settings and a cache of the parts that tools receive.
type settings struct {
	config *config.Config
	inputs sync.Map // results of input, by the comma-separated member names
}

// input returns the config object of a tool's input: the members that the tool needs.
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
