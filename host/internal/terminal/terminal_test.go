package terminal

import (
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
)

func TestSanitize(t *testing.T) {
	cases := map[string]struct{ in, line, text string }{
		"plain":         {"hello wörld 👋", "hello wörld 👋", "hello wörld 👋"},
		"escape":        {"a\x1b[31mred\x1b[0m\x07", "a␛[31mred␛[0m␇", "a␛[31mred␛[0m␇"},
		"breaks":        {"a\r\n\tb\n", "a b", "a\n    b\n"},
		"lone return":   {"safe\rEVIL", "safe EVIL", "safe␍EVIL"},
		"C1":            {"a\u009b31m", "a\ufffd31m", "a\ufffd31m"},
		"DEL":           {"a\x7f", "a␡", "a␡"},
		"bidi":          {"a\u202eb\u2066c", "a\ufffdb\ufffdc", "a\ufffdb\ufffdc"},
		"invalid UTF-8": {"a\xff\x9bb", "a\ufffd\ufffdb", "a\ufffd\ufffdb"},
		"real U+FFFD":   {"a\ufffdb", "a\ufffdb", "a\ufffdb"},
		"separators":    {"a\u2028b", "a\ufffdb", "a\ufffdb"},
		"empty":         {"", "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Line(c.in); got != c.line {
				t.Errorf("Line: %q, want %q", got, c.line)
			}
			if got := Text(c.in); got != c.text {
				t.Errorf("Text: %q, want %q", got, c.text)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	in := "{\n  \"a\": \"x\u009b\x7f\u202e\\u001b 👋\"\n}"
	want := "{\n  \"a\": \"x\\u009b\\u007f\\u202e\\u001b 👋\"\n}"
	if got := string(JSON([]byte(in))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzSanitize(f *testing.F) {
	f.Add("a\x1b]0;title\x07\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Line(s) + strings.ReplaceAll(Text(s), "\n", "") {
			if isControl(r) {
				t.Errorf("%q leaves %q", s, r)
			}
		}
	})
}

func TestTable(t *testing.T) {
	rows := [][]string{{"agent:main:main", "main", "1"}, {"世界", "other", "22"}}
	var plain strings.Builder
	New(&plain, func(string) string { return "" }).Table([]string{"KEY", "KIND", "N"}, rows)
	want := "KEY              KIND   N\nagent:main:main  main   1\n世界             other  22\n"
	if plain.String() != want {
		t.Errorf("plain:\n%s\nwant:\n%s", plain.String(), want)
	}

	rows = append(rows, []string{strings.Repeat("long ", 30), "other", "3"})
	for _, width := range []int{40, 80, 200} {
		var b strings.Builder
		(&Output{w: &b, terminal: true, color: true, width: width}).Table([]string{"KEY", "KIND", "N"}, rows)
		for line := range strings.SplitSeq(b.String(), "\n") {
			if n := lipgloss.Width(line); n > width {
				t.Errorf("width %d: %d columns: %q", width, n, line)
			}
		}
		if n := strings.Count(b.String(), "\n"); n != 5 {
			t.Errorf("width %d: %d lines:\n%s", width, n, b.String())
		}
	}
}

func TestTableWithoutRows(t *testing.T) {
	var b strings.Builder
	(&Output{w: &b}).Table([]string{"A", "B"}, nil)
	if b.String() != "A  B\n" {
		t.Errorf("got %q", b.String())
	}
}

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"hello", 5, "hello"}, {"hello!", 5, "hell…"}, {"世界世界", 5, "世界…"}, {"ab", 1, "…"}} {
		if got := Truncate(c.in, c.n); got != c.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestFields(t *testing.T) {
	var b strings.Builder
	(&Output{w: &b}).Fields([2]string{"a", "1"}, [2]string{"longest", ""}, [2]string{"long", "2\n3"})
	if want := "  a     1\n  long  2\n        3\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestProgress(t *testing.T) {
	var b strings.Builder
	o := &Output{w: &b, terminal: true, width: 60}
	p := o.NewProgress()
	p.now = func() time.Time { return p.start.Add(2 * time.Second) }
	p.Bytes(50_000_000, 100_000_000, "12 sessions, 3,456 messages")
	p.Clear()
	p.Clear()
	want := "\r\x1b[K████████████░░░░░░░░░░░░  50 %  50 MB of 100 MB  25 MB/s  …\r\x1b[K"
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}

	b.Reset()
	i := o.NewProgress()
	i.now = func() time.Time { return i.start.Add(time.Second) }
	i.Items(1, 4, "vector")
	if b.Len() != 0 {
		t.Errorf("in the first second: %q", b.String())
	}
	i.now = func() time.Time { return i.start.Add(time.Minute) }
	i.Items(3, 4, "vector")
	if want := "\r\x1b[K██████████████████░░░░░░  75 %  3 of 4 vectors"; b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}

	b.Reset()
	q := (&Output{w: &b}).NewProgress()
	q.now = i.now
	q.Items(1, 2, "vector")
	q.Bytes(1, 2, "x")
	q.Clear()
	if b.Len() != 0 {
		t.Errorf("no terminal: %q", b.String())
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 9_960: "10 kB", 147_000_000: "147 MB", 999_600: "1.0 MB", 1 << 62: "4.6 EB"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", -123: "-123"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{-1: "in the future", 0: "0s ago", 90 * time.Second: "1m ago", 47 * time.Hour: "47h ago", 48 * time.Hour: "2d ago"} {
		if got := Age(d); got != want {
			t.Errorf("Age(%v) = %q, want %q", d, got, want)
		}
	}
}
