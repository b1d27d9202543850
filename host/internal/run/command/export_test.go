package command

import (
	"encoding/json"
	"time"
)

// SetExitDelay sets how long, beyond the grace, a supervisor may take to exit.
func (rn *Runner) SetExitDelay(d time.Duration) { rn.exitDelay = d }

// Left returns three records of a turn whose supervisor is the given process: one that
// matches, one with another start time, and one with another boot id.
func Left(pid int) (left, restarted, rebooted json.RawMessage, err error) {
	id, err := identify(pid)
	if err != nil {
		return nil, nil, nil, err
	}
	left, _ = json.Marshal(&id)
	id.Start++
	restarted, _ = json.Marshal(&id)
	id.Start--
	id.Boot = "another"
	rebooted, _ = json.Marshal(&id)
	return left, restarted, rebooted, nil
}

// Tail returns the part of standard error that an error shows.
func Tail(secrets []string, printed ...string) string {
	t := tail{secrets: secrets}
	for _, p := range printed {
		_, _ = t.Write([]byte(p))
	}
	return t.String()
}
