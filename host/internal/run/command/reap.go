package command

import (
	"context"
	"encoding/json"
	"fmt"
)

// identity identifies a process, even if another process reuses its PID.
type identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"startTime"` // clock ticks since boot
	Boot  string `json:"bootId"`
}

// Reap implements runner.Reaper. It kills the supervisor that an attempt left, and
// the supervisor's descendants, and returns when they are gone. If the supervisor is
// gone, Reap does nothing: the supervisor exits after its descendants, and no process
// survives a restart of the machine.
func (rn *Runner) Reap(ctx context.Context, left json.RawMessage) error {
	var id identity
	if err := json.Unmarshal(left, &id); err != nil || id.PID <= 1 {
		return fmt.Errorf("command: the record of an earlier attempt's process is invalid: %.200s", left)
	}
	if err := id.kill(ctx); err != nil {
		return fmt.Errorf("command: end process %d, left by an earlier attempt: %w", id.PID, err)
	}
	return nil
}
