// Package schema holds the JSON Schemas of the tools: one for the arguments and one for
// the results of each tool (S2 to S6).
//
// The schemas are draft 2020-12 and use only keywords that mean the same in draft 7.
// They have no references and no $schema, which would name one draft, because the
// validators of MCP clients support different drafts. Input schemas state types and
// required members, not bounds: a tool clamps a number out of range instead of refusing
// it (S0.2). Output schemas also allow the failure {status, error} (S0.1).
package schema

import _ "embed" // for go:embed

var (
	//go:embed sessions_list.input.json
	ListInput []byte
	//go:embed sessions_list.output.json
	ListOutput []byte

	//go:embed sessions_history.input.json
	HistoryInput []byte
	//go:embed sessions_history.output.json
	HistoryOutput []byte

	//go:embed agents_list.input.json
	AgentsInput []byte
	//go:embed agents_list.output.json
	AgentsOutput []byte

	//go:embed sessions_send.input.json
	SendInput []byte
	//go:embed sessions_send.output.json
	SendOutput []byte

	//go:embed sessions_spawn.input.json
	SpawnInput []byte
	//go:embed sessions_spawn.output.json
	SpawnOutput []byte
)
