package send

import (
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/schema"
	"github.com/parley-wasm/parley/plugin/internal/flow/flowtest"
)

const (
	acceptedAt = flowtest.AcceptedAt
	everything = `{"tools":{"sessions":{"visibility":"all"},"agentToAgent":{"enabled":true}}}`
)

var (
	mainCaller = abi.Caller{SessionKey: "agent:main:main", AgentID: "main"}
	operator   = abi.Caller{Operator: true}
)

// driver runs flows of this tool.
type driver = flowtest.Driver

func drive(t *testing.T, caller abi.Caller) *driver {
	t.Helper()
	d := flowtest.New(t, flowtest.Tool{Call: Call, Resume: Resume, Output: schema.SendOutput}, caller,
		abi.Session{Key: "agent:main:main", SessionID: "s-main", UpdatedAt: 9, LastChannel: "telegram", LastTo: "7"},
		abi.Session{Key: "agent:ops:main", SessionID: "s-ops", UpdatedAt: 8, Label: "ops", LastChannel: "discord", LastTo: "8"},
		abi.Session{Key: "agent:main:cron:daily", SessionID: "s-cron", UpdatedAt: 7, Label: "twin"},
		abi.Session{Key: "agent:ops:cron:daily", SessionID: "s-cron2", UpdatedAt: 6, Label: "twin"},
		abi.Session{Key: "agent:main:old", SessionID: "s-old", UpdatedAt: 5, Label: "old", ArchivedAt: 1},
		abi.Session{Key: "agent:main:subagent:1", SessionID: "s-child", UpdatedAt: 4, SpawnedBy: "agent:main:main"},
	)
	d.Config = everything
	return d
}
