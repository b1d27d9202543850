package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

func TestAnswer(t *testing.T) {
	for message, want := range map[string]string{
		"m #x#":                         "r1 #x#",
		"r1 #x#":                        "r2 #x#",
		"r2 #c0-1#":                     "r3 #c0-1#",
		"r3 #x#":                        "r4 #x#",
		"the request m #x# got: r1 #x#": "a #x#",
		"do #x#":                        "done #x#",
		"mute #x#":                      silence,
		"fail #x#":                      broken,
		"Your task\n\nTask:\nhush #x#\n\nResult:\ndone #x#":                 silence,
		"Your task\n\nTask:\nmute #x#\n\nResult:\n-":                        strings.ReplaceAll(reportSaid, "#", "#x#"),
		"Status: success\nResult: r #x#\n\nsession agent:ops:subagent:1a-2": heard("agent:ops:subagent:1a-2"),
		"m":      "no tag",
		"r9 #x#": "lost",
	} {
		if got := answer(message); got != want {
			t.Errorf("to %q: %q, want %q", message, got, want)
		}
	}
}

// A process halts once, at the point that its order names.
func TestNumber(t *testing.T) {
	passes := []string{pointCommit, pointCommit, pointAgent, pointCommit, pointAgent}
	for at, want := range map[string]int{"": -1, "1": 0, "4": 3, pointAgent: 2, pointPost: -1, "9": -1} {
		p := &points{at: at, trace: io.Discard}
		var here []int
		for i, what := range passes {
			if p.number(what) {
				here = append(here, i)
			}
		}
		if want < 0 && len(here) > 0 || want >= 0 && !slices.Equal(here, []int{want}) {
			t.Errorf("at %q: halted at %v, want %d", at, here, want)
		}
	}
}

func TestOrders(t *testing.T) {
	points := []string{pointCommit, pointAgent, pointPost}
	for _, test := range []struct {
		only string
		want string
	}{
		{"", "before point 1, after point 1, before point 2, after point 2, before point 3, after point 3"},
		{pointPost, "before point 3, after point 3"},
	} {
		s := &scenario{only: test.only}
		var got []string
		for _, o := range s.orders(points) {
			got = append(got, o.String())
		}
		if got := strings.Join(got, ", "); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

func TestJudge(t *testing.T) {
	early := standing{}
	claimed := standing{claimed: true, running: 1}
	between := standing{claimed: true, posted: true}
	marked := standing{claimed: true, posted: true, marked: true}
	const drops, unaware = true, true
	for name, test := range map[string]struct {
		standing                   standing
		reposts, repeats, attempts int
		interrupted                int
		honours, unaware           bool
		want                       int
	}{
		"nothing":              {standing: early},
		"again for nothing":    {standing: early, reposts: 1, honours: drops, want: 1},
		"after the record":     {standing: marked, reposts: 1, honours: drops, want: 1},
		"between":              {standing: between, reposts: 1, repeats: 1},
		"between, dropped":     {standing: between, reposts: 1, honours: drops},
		"between, no drop":     {standing: between, reposts: 1, repeats: 1, honours: drops, want: 1},
		"between, never":       {standing: between, want: 1},
		"between, unaware":     {standing: between, reposts: 2, repeats: 2, unaware: unaware, want: 1},
		"second attempt":       {standing: claimed, attempts: 1},
		"no second attempt":    {standing: claimed, want: 1},
		"none was left":        {standing: claimed, interrupted: 1},
		"both":                 {standing: claimed, attempts: 1, interrupted: 1, want: 1},
		"attempts for nothing": {standing: early, attempts: 1, want: 1},
		"aware":                {standing: claimed, attempts: 1, reposts: 1, repeats: 1, want: 1},
		"unaware":              {standing: claimed, attempts: 1, reposts: 1, repeats: 1, unaware: unaware},
		"unaware, in time":     {standing: claimed, attempts: 1, unaware: unaware},
		"unaware, too often":   {standing: claimed, attempts: 1, reposts: 2, repeats: 2, unaware: unaware, want: 1},
		"unaware, unclaimed":   {standing: early, reposts: 1, repeats: 1, unaware: unaware, want: 1},
	} {
		found := &tally{reposts: test.reposts, repeats: test.repeats, attempts: test.attempts, interrupted: test.interrupted}
		if got := test.standing.judge(found, test.honours, test.unaware); len(got) != test.want {
			t.Errorf("%s: %q, want %d problems", name, got, test.want)
		}
	}
}

func TestFinal(t *testing.T) {
	answer := []byte(`{"childSessionKey":"agent:ops:subagent:1"}`)
	ended := &rows{
		Sessions:   map[string]*abi.Session{requester: {}, "agent:ops:subagent:1": {SpawnedBy: requester}},
		Flows:      []*store.Flow{{ID: "f", Status: store.FlowDone, Answer: answer}},
		Runs:       []*store.Run{{FlowID: "f", Status: abi.RunDone, EndedAt: 1}},
		Deliveries: []*store.Delivery{{FlowID: "f", Status: store.DeliveryDelivered, EndedAt: 1}},
	}
	open := &rows{
		Flows:      []*store.Flow{{ID: "f", Status: store.FlowParked}},
		Runs:       []*store.Run{{FlowID: "f", Status: abi.RunRunning}},
		Deliveries: []*store.Delivery{{FlowID: "f", Status: store.DeliveryPending}},
		Due:        []store.Due{{Kind: store.KindRun}, {Kind: store.KindFlow}},
	}
	strange := &rows{
		Sessions:   map[string]*abi.Session{"agent:ops:subagent:2": {SpawnedBy: requester}},
		Flows:      []*store.Flow{{ID: "f", Status: store.FlowDone, Answer: answer}},
		Runs:       []*store.Run{{Status: abi.RunDone, EndedAt: 1}},
		Deliveries: []*store.Delivery{{FlowID: "g", Status: store.DeliveryDelivered, EndedAt: 1}},
	}
	for name, test := range map[string]struct {
		rows *rows
		want int
	}{"ended": {ended, 0}, "open": {open, 5}, "strange": {strange, 3}} {
		var found tally
		if found.final(test.rows); len(found.problems) != test.want {
			t.Errorf("%s: %q, want %d problems", name, found.problems, test.want)
		}
	}
}
