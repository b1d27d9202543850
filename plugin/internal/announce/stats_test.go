package announce

import (
	"testing"

	"github.com/parley-wasm/parley/abi"
)

func TestStats(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	dollars := func(v float64) *float64 { return &v }
	for _, tt := range []struct {
		name  string
		stats Stats
		want  string
	}{
		{"example of the spec", Stats{StartedAt: 1_000, EndedAt: 313_000, Usage: &abi.Usage{Input: n(900), Output: n(300), Cost: dollars(0.0123)}, Key: "k", SessionID: "i", Transcript: "/p"},
			"Stats: runtime 5m12s · tokens 1.2k (in 900 / out 300) · session k · id i · transcript /p · est $0.0123"},
		{"nothing known", Stats{Key: "k", SessionID: "i"}, "Stats: runtime n/a · tokens n/a · session k · id i"},
		{"no token counts", Stats{StartedAt: 1, EndedAt: 1, Usage: &abi.Usage{}, Key: "k", SessionID: "i"}, "Stats: runtime 0s · tokens n/a · session k · id i"},
		{"end before start", Stats{StartedAt: 9_000, EndedAt: 1_000, Key: "k", SessionID: "i"}, "Stats: runtime n/a · tokens n/a · session k · id i"},
		{"only in", Stats{StartedAt: 1, EndedAt: 1_001, Usage: &abi.Usage{Input: n(5)}, Key: "k", SessionID: "i"}, "Stats: runtime 1s · tokens n/a (in 5 / out n/a) · session k · id i"},
		{"only out", Stats{StartedAt: 1, EndedAt: 1_001, Usage: &abi.Usage{Output: n(5)}, Key: "k", SessionID: "i"}, "Stats: runtime 1s · tokens n/a (in n/a / out 5) · session k · id i"},
		{"only total", Stats{StartedAt: 1, EndedAt: 1_001, Usage: &abi.Usage{Total: n(5)}, Key: "k", SessionID: "i"}, "Stats: runtime 1s · tokens 5 (in n/a / out n/a) · session k · id i"},
		{"total that is not the sum", Stats{StartedAt: 1, EndedAt: 1_001, Usage: &abi.Usage{Input: n(1), Output: n(1), Total: n(9)}, Key: "k", SessionID: "i"}, "Stats: runtime 1s · tokens 9 (in 1 / out 1) · session k · id i"},
		{"zero tokens", Stats{StartedAt: 1, EndedAt: 1_001, Usage: &abi.Usage{Input: n(0), Output: n(0), Cost: dollars(0)}, Key: "k", SessionID: "i"}, "Stats: runtime 1s · tokens 0 (in 0 / out 0) · session k · id i · est $0.0000"},
		{"high cost", Stats{StartedAt: 1, EndedAt: 1_001, Usage: &abi.Usage{Cost: dollars(1234.56789)}, Key: "k", SessionID: "i"}, "Stats: runtime 1s · tokens n/a · session k · id i · est $1234.5679"},
	} {
		if got := tt.stats.line(); got != tt.want {
			t.Errorf("S5.5 %s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestRuntime(t *testing.T) {
	for ms, want := range map[int64]string{
		0: "0s", 499: "0s", 500: "1s", 999: "1s", 59_499: "59s", 59_500: "1m0s", 60_000: "1m0s", 312_000: "5m12s", 3_599_499: "59m59s",
		3_599_500: "1h0m0s", 3_601_000: "1h0m1s", 90_061_000: "25h1m1s",
	} {
		if got := (&Stats{StartedAt: 1, EndedAt: 1 + ms}).runtime(); got != want {
			t.Errorf("S5.5 %d ms: %s, want %s", ms, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 1: "1", 999: "999", 1000: "1k", 1049: "1k", 1050: "1.1k", 1200: "1.2k", 1999: "2k", 12_345: "12.3k", 999_949: "999.9k", 999_950: "1m",
		1_000_000: "1m", 1_250_000: "1.3m", 999_949_999: "999.9m", 999_950_000: "1g", 2_000_000_000_000: "2000g", -5: "-5",
	} {
		if got := count(&n); got != want {
			t.Errorf("S5.5 %d tokens: %s, want %s", n, got, want)
		}
	}
}
