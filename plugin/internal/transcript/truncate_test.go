package transcript

import (
	"reflect"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

func TestFitTexts(t *testing.T) {
	for _, tt := range []struct {
		room int
		in   []string
		want []string
	}{
		{100, []string{"a", "", "b"}, []string{"a", "", "b"}},
		{57, []string{"short", strings.Repeat("x", 50), ""}, []string{"short", strings.Repeat("x", 50), ""}},
		{54, []string{"short", strings.Repeat("x", 50), ""}, []string{"short", strings.Repeat("x", 49-markerSize) + Marker, ""}},
		{60, []string{strings.Repeat("x", 80), strings.Repeat(`"`, 80)}, []string{strings.Repeat("x", 30-markerSize) + Marker, strings.Repeat(`"`, (30-markerSize)/2) + Marker}},
	} {
		got := append([]string(nil), tt.in...)
		var texts []*string
		for i := range got {
			texts = append(texts, &got[i])
		}
		FitTexts(tt.room, texts...)
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("FitTexts(%d, %q)\n got %q\nwant %q", tt.room, tt.in, got, tt.want)
		}
		size := 0
		for _, s := range got {
			size += len(jsonappend.String(nil, s)) - 2
		}
		again := append([]string(nil), got...)
		for i := range again {
			texts[i] = &again[i]
		}
		FitTexts(tt.room, texts...)
		if size > tt.room || !reflect.DeepEqual(got, again) {
			t.Errorf("%d of %d bytes; after a second FitTexts: %q", size, tt.room, again)
		}
	}
}

// For all texts, prefix returns the exact size, and the fitted texts do not exceed the room.
func FuzzFit(f *testing.F) {
	f.Add("a\"\\\n\x01é€𝄞\xff", "b", "", 10)
	f.Fuzz(func(t *testing.T, a, b, c string, room int) {
		room = 3*markerSize + max(0, room%(1<<12))
		FitTexts(room, &a, &b, &c)
		size := 0
		for _, s := range []string{a, b, c} {
			n := len(jsonappend.String(nil, s)) - 2
			if _, size := prefix(s, 1<<30); size != n {
				t.Fatalf("%q takes %d bytes, prefix returned %d", s, n, size)
			}
			size += n
		}
		if size > room {
			t.Fatalf("%d of %d bytes", size, room)
		}
	})
}
