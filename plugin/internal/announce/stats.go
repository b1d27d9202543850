package announce

import (
	"strconv"

	"github.com/parley-wasm/parley/abi"
)

// Stats are the statistics at the end of a report.
type Stats struct {
	StartedAt  int64 // of the child's run, in milliseconds; 0: it never started
	EndedAt    int64
	Usage      *abi.Usage
	Key        string // of the child, in the form that the requester sees
	SessionID  string
	Transcript string // path; empty: left out
}

const unknown = "n/a"

func (s *Stats) line() string {
	text := "Stats: runtime " + s.runtime() + " · tokens " + tokens(s.Usage) + " · session " + s.Key + " · id " + s.SessionID
	if s.Transcript != "" {
		text += " · transcript " + s.Transcript
	}
	if s.Usage != nil && s.Usage.Cost != nil {
		text += " · est $" + strconv.FormatFloat(*s.Usage.Cost, 'f', 4, 64)
	}
	return text
}

// runtime returns the duration in whole units, largest first: 1h2m3s, 5m12s, 12s.
func (s *Stats) runtime() string {
	if s.StartedAt == 0 || s.EndedAt < s.StartedAt {
		return unknown
	}
	seconds := (s.EndedAt - s.StartedAt + 500) / 1000
	text := strconv.FormatInt(seconds%60, 10) + "s"
	if seconds >= 60 {
		text = strconv.FormatInt(seconds/60%60, 10) + "m" + text
	}
	if seconds >= 3600 {
		text = strconv.FormatInt(seconds/3600, 10) + "h" + text
	}
	return text
}

// tokens returns the total number of tokens and the numbers of input and output tokens. It
// computes an unknown total from the other two if both are known.
func tokens(u *abi.Usage) string {
	if u == nil || u.Input == nil && u.Output == nil && u.Total == nil {
		return unknown
	}
	total := u.Total
	if total == nil && u.Input != nil && u.Output != nil {
		sum := *u.Input + *u.Output
		total = &sum
	}
	return count(total) + " (in " + count(u.Input) + " / out " + count(u.Output) + ")"
}

// count formats a number of tokens: exact below a thousand, else with at most one decimal.
func count(n *int64) string {
	if n == nil {
		return unknown
	}
	unit, suffix := int64(1), ""
	switch {
	case *n >= 999_950_000:
		unit, suffix = 1_000_000_000, "g"
	case *n >= 999_950:
		unit, suffix = 1_000_000, "m"
	case *n >= 1000:
		unit, suffix = 1000, "k"
	default:
		return strconv.FormatInt(*n, 10)
	}
	tenths := (*n + unit/20) / (unit / 10)
	text := strconv.FormatInt(tenths/10, 10)
	if tenths%10 != 0 {
		text += "." + strconv.FormatInt(tenths%10, 10)
	}
	return text + suffix
}
