package main

import (
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", strings.Join(names(), " ")},
		{"soak -seed 7 crash", "soak crash"},
		{"-seed 7 swaps", "swaps"},
		{"swaps nothing", "nothing is not a stage; the stages are " + strings.Join(names(), ", ")},
	} {
		seed, chosen, err := parse(strings.Fields(c.args))
		var verbs []string
		for _, s := range chosen {
			verbs = append(verbs, s.verb)
		}
		got := strings.Join(verbs, " ")
		if err != nil {
			got = err.Error()
		}
		if got != c.want || strings.Contains(c.args, "7") && err == nil && seed != 7 {
			t.Errorf("%q: %s, seed %d; want %s", c.args, got, seed, c.want)
		}
	}
}

// The counts of a command that fails are added too.
func TestCount(t *testing.T) {
	counts := map[string]int64{}
	err := count(exec.Command("bash", "-c", `echo 'summary {"a":1,"b":2}'; echo text; echo 'summary {"a":3}'; exit 1`), counts)
	if want := map[string]int64{"a": 4, "b": 2}; err == nil || !maps.Equal(counts, want) {
		t.Errorf("%v, %v; want %v", counts, err, want)
	}
	if err := count(exec.Command("echo", "summary nothing"), counts); err == nil {
		t.Error("no error for a summary without numbers")
	}
}

func TestTotals(t *testing.T) {
	log := filepath.Join(t.TempDir(), "long.jsonl")
	seed := uint64(7)
	for _, e := range []*entry{
		{Revision: "a", Stage: "crash", Seed: &seed, Outcome: passed, Seconds: 2, Counts: map[string]int64{"kills": 5, "stops": 1}},
		{Revision: "a", Stage: "crash", Outcome: passed, Seconds: 3, Counts: map[string]int64{"kills": 6}},
		{Revision: "a", Stage: "crash", Outcome: failed, Seconds: 1, Counts: map[string]int64{"kills": 100}},
		{Revision: "b", Stage: "crash", Outcome: passed, Counts: map[string]int64{"kills": 1000}},
		{Revision: "a", Stage: "repro", Outcome: passed, Seconds: 9},
	} {
		if err := appendTo(log, e); err != nil {
			t.Fatal(err)
		}
	}
	all, err := load(log)
	if err != nil {
		t.Fatal(err)
	}
	want := "  crash    2 passed, 1 failed, 6 s, 11 kills, 1 stops\n  repro    1 passed, 0 failed, 9 s\n"
	if got := totals(all, "a"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if len(all) != 5 || all[0].Seed == nil || *all[0].Seed != seed || all[1].Seed != nil {
		t.Errorf("the log has %d lines, the first %+v", len(all), all[0])
	}
}
