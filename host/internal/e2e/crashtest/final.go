package main

import "github.com/tidwall/gjson"

// final fails for all that has not ended, for what is scheduled though nothing is
// left to do, and for work and children that no flow has asked for.
func (t *tally) final(w *rows) {
	flows, children := map[string]bool{}, map[string]bool{}
	for _, f := range w.Flows {
		flows[f.ID] = true
		children[gjson.GetBytes(f.Answer, "childSessionKey").Str] = true
		if !f.Ended() {
			t.fail("flow %s is %s", f.ID, f.Status)
		}
	}
	for _, r := range w.Runs {
		if !r.Ended() {
			t.fail("run %s is %s", r.ID, r.Status)
		}
		if !flows[r.FlowID] {
			t.fail("run %s is of no flow", r.ID)
		}
	}
	for _, d := range w.Deliveries {
		if !d.Ended() {
			t.fail("delivery %s is %s", d.ID, d.Status)
		}
		if !flows[d.FlowID] {
			t.fail("delivery %s is of no flow", d.ID)
		}
	}
	for key, s := range w.Sessions {
		if s.SpawnedBy != "" && !children[key] {
			t.fail("session %s is the child of no spawn", key)
		}
	}
	for _, d := range w.Due {
		t.fail("%s %s has ended, and is still scheduled", d.Kind, d.ID)
	}
}
