package command

import (
	"context"
	"encoding/json"
	"fmt"
)

// identity tells a process apart from another one that has got its number since.
type identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"startTime"` // clock ticks since boot
	Boot  string `json:"bootId"`
}

// Reap implements runner.Reaper. It kills the supervisor that the attempt left and
// all that is below it, and returns when they are gone. If the supervisor is
// gone nothing is done: it goes last, and a restart of the machine leaves nothing.
func (a *Agent) Reap(ctx context.Context, left json.RawMessage) error {
	var id identity
	if err := json.Unmarshal(left, &id); err != nil || id.PID <= 1 {
		return fmt.Errorf("command: what an attempt left is not a process: %.200s", left)
	}
	if err := id.kill(ctx); err != nil {
		return fmt.Errorf("command: end process %d, left by an earlier attempt: %w", id.PID, err)
	}
	return nil
}
