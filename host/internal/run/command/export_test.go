package command

import (
	"encoding/json"
	"time"
)

// SetPatience sets how long a supervisor is waited for beyond the grace.
func (a *Agent) SetPatience(d time.Duration) { a.patience = d }

// Left returns what a turn would leave whose supervisor is this process, and the
// same with another start time, and with another boot.
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

// Tail returns what is shown of standard error.
func Tail(secrets []string, printed ...string) string {
	t := tail{secrets: secrets}
	for _, p := range printed {
		_, _ = t.Write([]byte(p))
	}
	return t.String()
}
