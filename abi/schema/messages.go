//go:build !tinygo

package schema

import _ "embed" // for go:embed

// Messages is the JSON Schema of the ABI's messages. Its $defs hold every message that
// crosses the boundary, by name. Unlike the schemas of tools it has a $schema and
// references, because it is read by the tests of hosts and not by MCP clients. No
// plugin contains it.
//
//go:embed messages.json
var Messages []byte
