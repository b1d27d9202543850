//go:build !tinygo

package schema

import _ "embed" // the schema is a file

// Messages is the JSON Schema of the messages of the ABI: in its $defs each message
// that crosses the boundary, by name. It does have a $schema and references, for it
// is read by the tests of hosts and not by MCP clients. No plugin contains it.
//
//go:embed messages.json
var Messages []byte
