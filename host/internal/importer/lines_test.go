package importer

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 600<<10) // longer than the reader's buffer
	tests := []struct {
		name, text string
		want       []string // "!" = too long; "…" at the end = no newline
	}{
		{"none", "", nil},
		{"one", "a\n", []string{"a"}},
		{"blank", "\n\r\n", []string{"", ""}},
		{"not ended", "a\nb", []string{"a", "b…"}},
		{"carriage returns", "a\r\nb\r", []string{"a", "b\r…"}},
		{"long", long + "\nb\n", []string{long, "b"}},
		{"long and not ended", long, []string{long + "…"}},
		{"too long", long + long + "\nb\n", []string{"!", "b"}},
		{"too long at the end", "b\n" + long + long, []string{"b", "!…"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{"whole": strings.NewReader(tt.text), "in halves": iotest.HalfReader(strings.NewReader(tt.text))} {
				got, n := readLines(t, r, 1<<20)
				if strings.Join(got, "|") != strings.Join(tt.want, "|") || n != int64(len(tt.text)) {
					t.Errorf("%s: %d lines of %d bytes, want %d of %d", name, len(got), n, len(tt.want), len(tt.text))
				}
			}
		})
	}
}

func TestLinesReadError(t *testing.T) {
	broken := errors.New("I/O error")
	l := newLineReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 10)
	if got, err := l.next(); err != nil || string(got.Text) != "a" {
		t.Fatalf("%q, %v", got.Text, err)
	}
	if _, err := l.next(); !errors.Is(err, broken) {
		t.Errorf("err %v, want %v", err, broken)
	}
}

func readLines(t *testing.T, r io.Reader, max int) (got []string, bytes int64) {
	t.Helper()
	for l := newLineReader(r, max); ; {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return got, bytes
		}
		if err != nil {
			t.Fatal(err)
		}
		s := string(line.Text)
		if line.TooLong {
			s = "!"
		}
		if !line.Ended {
			s += "…"
		}
		got = append(got, s)
		bytes += line.Bytes
	}
}

// FuzzLines compares the reader with splitting at newlines.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\nccccc"), 3)
	f.Add([]byte("\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, max int) {
		if max < 1 || max > 1<<16 {
			max = 1 << 10
		}
		var want []string
		for part := range bytes.Lines(text) {
			s := string(part)
			end := "…"
			if s[len(s)-1] == '\n' {
				s, end = s[:len(s)-1], ""
			}
			switch {
			case len(s) > max:
				s = "!"
			case end == "":
				s = strings.TrimSuffix(s, "\r")
			}
			want = append(want, s+end)
		}
		got, n := readLines(t, bytes.NewReader(text), max)
		if strings.Join(got, "|") != strings.Join(want, "|") || n != int64(len(text)) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
