package e2e

import (
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

func TestRowChecks(t *testing.T) {
	answer := []byte(`{"childSessionKey":"agent:ops:subagent:1"}`)
	ended := &Rows{
		Sessions:   map[string]*abi.Session{"agent:main:main": {}, "agent:ops:subagent:1": {SpawnedBy: "agent:main:main"}},
		Flows:      []*store.Flow{{ID: "f", Status: store.FlowDone, Answer: answer}},
		Runs:       []*store.Run{{FlowID: "f", Status: abi.RunDone, EndedAt: 1}},
		Deliveries: []*store.Delivery{{FlowID: "f", Status: store.DeliveryDelivered, EndedAt: 1}},
	}
	open := &Rows{
		Flows:      []*store.Flow{{ID: "f", Status: store.FlowParked}},
		Runs:       []*store.Run{{FlowID: "f", Status: abi.RunRunning}},
		Deliveries: []*store.Delivery{{FlowID: "f", Status: store.DeliveryPending}},
		Due:        []store.Due{{Kind: store.KindRun}, {Kind: store.KindFlow}},
	}
	unrelated := &Rows{
		Sessions:   map[string]*abi.Session{"agent:ops:subagent:2": {SpawnedBy: "agent:main:main"}},
		Flows:      []*store.Flow{{ID: "f", Status: store.FlowDone, Answer: answer}},
		Runs:       []*store.Run{{Status: abi.RunDone, EndedAt: 1}},
		Deliveries: []*store.Delivery{{FlowID: "g", Status: store.DeliveryDelivered, EndedAt: 1}},
	}
	for name, test := range map[string]struct {
		rows *Rows
		want int
	}{"ended": {ended, 0}, "open": {open, 5}, "unrelated": {unrelated, 3}} {
		var found Report
		test.rows.CheckEnded(&found)
		if test.rows.CheckSpawned(&found); len(found.Problems()) != test.want {
			t.Errorf("%s: %q, want %d problems", name, found.Problems(), test.want)
		}
	}
}
