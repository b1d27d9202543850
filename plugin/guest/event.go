package guest

import "github.com/parley-wasm/parley/abi"

// Ended reports whether a run is in one of its final states.
func Ended(r *abi.Run) bool {
	switch r.Status {
	case abi.RunDone, abi.RunFailed, abi.RunKilled, abi.RunTimeout:
		return true
	}
	return false
}

// Outcome returns a phrase that describes how an unsuccessful run ended.
func Outcome(status string) string {
	switch status {
	case abi.RunKilled:
		return "was aborted"
	case abi.RunTimeout:
		return "hit its time limit"
	}
	return "failed"
}
