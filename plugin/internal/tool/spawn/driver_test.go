package spawn

import (
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/schema"
	"github.com/parley-wasm/parley/plugin/internal/flow/flowtest"
)

const (
	main  = "agent:main:main"
	child = "agent:main:subagent:1"
)

var (
	mainCaller = abi.Caller{SessionKey: main, AgentID: "main", Channel: "telegram", To: "7"}
	operator   = abi.Caller{Operator: true}
)

// driver runs flows of this tool.
type driver = flowtest.Driver

func drive(t *testing.T, caller abi.Caller) *driver {
	t.Helper()
	return flowtest.New(t, flowtest.Tool{Call: Call, Resume: Resume, Output: schema.SpawnOutput}, caller,
		abi.Session{Key: main, SessionID: "s-main", UpdatedAt: 9, LastChannel: "telegram", LastTo: "7"})
}
