package part_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/parley-wasm/parley/host/internal/delivery/part"
)

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		name, text string
		limit      int
		want       []string
	}{
		{"short", "hello", 10, []string{"hello"}},
		{"just fits", "0123456789", 10, []string{"0123456789"}},
		{"empty", "", 10, []string{""}},
		{"blank", " \n\n ", 2, []string{""}},
		{"at a line break", "first li\nsecond", 10, []string{"first li", "second"}},
		{"rather than at a later space", "first l\na b c d", 10, []string{"first l", "a b c d"}},
		{"at a space", "one two three four", 10, []string{"one two", "three four"}},
		{"at the end of what fits", "one two xy three", 10, []string{"one two xy", "three"}},
		{"not in the first half", "a\nbbbbbbbbbbbb", 10, []string{"a\nbbbbbbbb", "bbbb"}},
		{"through a long word", strings.Repeat("x", 25), 10, []string{"xxxxxxxxxx", "xxxxxxxxxx", "xxxxx"}},
		{"between characters", "ééééé", 3, []string{"ééé", "éé"}},
		{"not within a pair", "a😀😀😀", 4, []string{"a😀", "😀😀"}},
		{"indentation is kept", "first li\n  second", 10, []string{"first li", "  second"}},
		{"no blank parts", "abcdefgh\n\n\n\n\n\n\n\n\n\n\n\n\n\nz", 10, []string{"abcdefgh\n\n", "z"}},
		{"invalid text", "a\xffb", 10, []string{"a\uFFFDb"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := part.Split(test.text, test.limit, part.UTF16); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestSplitKeeps asserts that parts are within the limit and lose nothing but space.
func TestSplitKeeps(t *testing.T) {
	solid := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab 😀é\n\t"))).Draw(t, "text")
		limit := rapid.IntRange(2, 12).Draw(t, "limit")
		parts := part.Split(text, limit, part.UTF16)
		if got := solid(strings.Join(parts, "")); got != solid(text) {
			t.Fatalf("%q became %q", text, parts)
		}
		for _, p := range parts {
			if n := len(utf16.Encode([]rune(p))); n > limit || !utf8.ValidString(p) {
				t.Fatalf("%q has %d units", p, n)
			}
			if len(parts) > 1 && strings.TrimSpace(p) == "" {
				t.Fatalf("a blank part in %q", parts)
			}
		}
	})
}

var errBroken = errors.New("broken")

func TestProgress(t *testing.T) {
	var m part.Progress
	var posted []string
	fail := map[string]bool{"b": true}
	post := func(_ context.Context, i int, text string) error {
		posted = append(posted, fmt.Sprint(i, text))
		if fail[text] {
			return errBroken
		}
		return nil
	}
	parts := []string{"a", "b", "c"}
	if err := m.Post(t.Context(), "k", parts, post); !errors.Is(err, errBroken) || err.Error() != "part 2 of 3: broken" {
		t.Errorf("%v", err)
	}
	if err := m.Post(t.Context(), "other", []string{"b"}, post); err == nil || err.Error() != "broken" {
		t.Errorf("%v", err)
	}
	clear(fail)
	if err := m.Post(t.Context(), "k", parts, post); err != nil {
		t.Error(err)
	}
	// A completely posted message is dropped.
	if err := m.Post(t.Context(), "k", parts, post); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(posted); got != "[0a 1b 0b 1b 2c 0a 1b 2c]" {
		t.Error(got)
	}
}

// TestProgressIsBounded leaves more messages partly posted than a Progress keeps.
func TestProgressIsBounded(t *testing.T) {
	var m part.Progress
	halfway := func(_ context.Context, i int, _ string) error {
		if i == 1 {
			return errBroken
		}
		return nil
	}
	for i := range 20_000 {
		if err := m.Post(t.Context(), fmt.Sprint(i), []string{"a", "b"}, halfway); err == nil {
			t.Fatal("a partly posted message is not an error")
		}
	}
	known := 0
	for i := range 20_000 {
		_ = m.Post(t.Context(), fmt.Sprint(i), []string{"a", "b"}, func(_ context.Context, position int, _ string) error {
			if position == 1 {
				known++
			}
			return errBroken
		})
	}
	if known != 10_000 {
		t.Errorf("%d messages are remembered", known)
	}
}
